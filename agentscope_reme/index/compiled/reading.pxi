# A small file of the vault in one step, as ``vault.opening`` reads it in five calls of the system from Python.

cdef extern from *:
    """
    #if defined(__linux__)
    #include <errno.h>
    #include <fcntl.h>
    #include <stdint.h>
    #include <sys/stat.h>
    #include <sys/syscall.h>
    #include <unistd.h>

    #if !defined(SYS_openat2) && !defined(__alpha__)
    #define SYS_openat2 437
    #endif

    #if defined(SYS_openat2)
    static volatile int reme_may_read = 1;  /* until the system says that it has no such call */
    #else
    static volatile int reme_may_read = 0;
    #endif

    static int reme_can_read(void) { return reme_may_read; }

    /* How many bytes a regular file has, all of which are in ``room`` then; -1 where it is none, a link leads to it, it
       has more than ``most`` bytes, or the system refuses: whoever asks then goes another way, and is told why. */
    static long reme_read_file(const char *path, char *room, long most) {
    #if defined(SYS_openat2)
        struct { uint64_t flags, mode, resolve; } how = {O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0x04 /* no links */};
        struct stat status;
        long size = -1;
        int file = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
        if (file < 0) {
            if (errno == ENOSYS) reme_may_read = 0;
            return -1;
        }
        if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= most) {
            size = (long)read(file, room, (size_t)status.st_size + 1);
            if (size != status.st_size) size = -1;  /* it grows, or not all of it came at once */
        }
        close(file);
        return size;
    #else
        return -1;
    #endif
    }
    #else
    static int reme_can_read(void) { return 0; }
    static long reme_read_file(const char *path, char *room, long most) { return -1; }
    #endif
    """
    bint reme_can_read() nogil
    long reme_read_file(const char *path, char *room, long most) nogil

cdef enum:
    _MOST_AT_ONCE = 32_768


cdef bint _is_plain(str path):
    """Whether a path is one that ``vault.paths.parse_path`` takes as it is; False is not sure."""
    cdef Py_ssize_t size = len(path), at, begin = 0
    cdef int kind = PyUnicode_KIND(path)
    cdef void *data = PyUnicode_DATA(path)
    cdef unsigned int char
    if not 0 < size <= 240:
        return False
    for at in range(size + 1):
        char = PyUnicode_READ(kind, data, at) if at < size else 47
        if char == 47:
            if at == begin:
                return False
            if PyUnicode_READ(kind, data, begin) == 46:
                if at == begin + 1 or (at == begin + 2 and PyUnicode_READ(kind, data, begin + 1) == 46):
                    return False
            begin = at + 1
        elif char < 32 or 0x7F <= char < 0xA0 or char == 92 or char == 58 or char == 126:
            return False
        elif 0x2028 <= char <= 0x202E or 0x2066 <= char <= 0x2069 or 0xD800 <= char <= 0xDFFF:
            return False
    return True


def read_plain(bytes root, object path):
    """All bytes of a small regular file at a plain path below a folder, to which no link leads; else None.

    ``root`` is the folder's path without links, with a stroke at its end; names are UTF-8 on the disk. Linux alone can
    tell in one call; other threads run meanwhile.
    """
    cdef char room[_MOST_AT_ONCE + 1]
    cdef bytes whole
    cdef const char *name
    cdef long size
    if not reme_can_read() or type(path) is not str or not _is_plain(<str>path):
        return None
    whole = root + (<str>path).encode()
    name = whole
    with nogil:
        size = reme_read_file(name, room, _MOST_AT_ONCE)
    return PyBytes_FromStringAndSize(room, size) if size >= 0 else None
