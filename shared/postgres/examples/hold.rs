//! Keeps a durable server in the given folder until standard input ends, or until it is killed.
//!
//! ```text
//! cargo run -p tidemark-postgres --example hold -- .tidemark
//! ```

use std::io::{Read, Write};

use tidemark_postgres::{EmbeddedServer, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args_os().nth(1).ok_or("usage: hold FOLDER")?;
    let server = EmbeddedServer::start(Options::durable(root))?;
    let mut output = std::io::stdout();
    writeln!(output, "{}", server.url("postgres", "postgres"))?;
    output.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
