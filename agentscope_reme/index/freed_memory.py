"""Memory that was needed for a moment goes back to the system, where the C library keeps it otherwise."""


def give_back() -> None:
    """Have the C library hand what was freed back to the system, after work that took much for a moment.

    glibc has a call for that (some milliseconds); elsewhere nothing happens. Without it what a build or an opening took
    for a moment stays with the process: about a tenth of an opened index, and a third of one that was just built.
    """
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
    except (ImportError, OSError, AttributeError, TypeError):
        return  # another C library
