"""Connections to what keeps documents and records: an SQLite file, or an Elasticsearch cluster."""
