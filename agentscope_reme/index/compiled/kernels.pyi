SOURCES: str  # the fingerprint of the sources the module was made of, as `sources.fingerprint` gives it
RECIPE: str  # how it was made: compiler, flags, versions of the tools, in one hash
