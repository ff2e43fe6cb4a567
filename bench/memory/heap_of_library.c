/*
 * Counts what one library of a process holds in the C heap.
 *
 *   LD_PRELOAD=heap_of_library.so HEAP_OF=/path/libinstr.so HEAP_FILE=FILE java ...
 *
 * A block belongs to the library if the library's own code asks for it; what Rust asks for Rust gives back, so the sum is right.
 * FILE holds three 64-bit numbers: bytes now, the most at any time, and how many of those of now are in blocks of 64 KiB, which
 * are the segments that calls are recorded in.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum { SEGMENT = 64 * 1024, NUMBERS = 3 * sizeof(int64_t) };

static const char *library;
static uintptr_t code_start, code_end;
static int calls;
static int64_t *figures;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("HEAP_FILE");
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, NUMBERS) != 0) {
        return;
    }
    void *memory = mmap(NULL, NUMBERS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) {
        figures = memory;
        library = getenv("HEAP_OF");
    }
}

static int find(struct dl_phdr_info *info, size_t size, void *unused) {
    if (strcmp(info->dlpi_name, library) != 0) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
            code_end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
            code_start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        }
    }
    return 1;
}

static int is_own(void *caller) {
    if (library == NULL) {
        return 0;
    }
    if (code_start == 0 && __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % 16 == 0) {
        dl_iterate_phdr(find, NULL);
    }
    return (uintptr_t)caller >= code_start && (uintptr_t)caller < code_end;
}

static void count(int64_t bytes) {
    int64_t now = __atomic_add_fetch(&figures[0], bytes, __ATOMIC_RELAXED);
    if (now > figures[1]) {
        figures[1] = now;
    }
    int64_t size = bytes < 0 ? -bytes : bytes;
    if (size >= SEGMENT && size < SEGMENT + 16) {
        __atomic_add_fetch(&figures[2], bytes, __ATOMIC_RELAXED);
    }
}

static void *taken(void *block, void *caller) {
    if (block != NULL && is_own(caller)) {
        count(malloc_usable_size(block));
    }
    return block;
}

static void given_back(void *block, void *caller) {
    if (block != NULL && is_own(caller)) {
        count(-(int64_t)malloc_usable_size(block));
    }
}

void *malloc(size_t size) { return taken(__libc_malloc(size), __builtin_return_address(0)); }

void *calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size), __builtin_return_address(0)); }

void *realloc(void *block, size_t size) {
    given_back(block, __builtin_return_address(0));
    return taken(__libc_realloc(block, size), __builtin_return_address(0));
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = taken(__libc_memalign(alignment, size), __builtin_return_address(0));
    return *block == NULL ? 12 : 0;
}

void *memalign(size_t alignment, size_t size) {
    return taken(__libc_memalign(alignment, size), __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t size) {
    return taken(__libc_memalign(alignment, size), __builtin_return_address(0));
}

void free(void *block) {
    given_back(block, __builtin_return_address(0));
    __libc_free(block);
}
