"""Stand-ins for models and providers, and what a provider demands of a request. Offline, deterministic, strict."""
