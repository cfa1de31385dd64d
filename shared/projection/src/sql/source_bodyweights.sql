SELECT logged.measured_on, logged.weight, logged.weight_unit FROM tidemark.source_bodyweights_v1($1) AS logged
