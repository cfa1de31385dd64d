SELECT tidemark.status_rebuild()
