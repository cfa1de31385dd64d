//! Enumerations with written names, the ones stored in tables and settings.

/// A name that stands for no value of the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown name, expected {expected}")]
pub struct UnknownName {
    /// The names that exist.
    pub expected: &'static str,
}

/// Gives an enumeration `as_str`, `Display` and `FromStr` from one table of names.
macro_rules! written_names {
    ($type:ident, $expected:literal, $($variant:ident => $name:literal),+ $(,)?) => {
        impl $type {
            #[doc = concat!("The written name: ", $expected, ".")]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::names::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                match name {
                    $($name => Ok(Self::$variant),)+
                    _ => Err($crate::names::UnknownName { expected: $expected }),
                }
            }
        }
    };
}

pub(crate) use written_names;
