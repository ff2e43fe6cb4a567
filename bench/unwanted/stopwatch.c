/*
 * Times what stands between two agents of a JVM when it presents a class: an agent loaded before and one loaded behind instr.
 *
 *   java -agentpath:stopwatch.so=start -agentpath:libinstr.so=... -agentpath:stopwatch.so=stop:FILE ...
 *
 * The JVM asks its agents about a class one after the other, in the order in which they were loaded. FILE gets one line for each
 * class whose bytes came out as they went in: nanoseconds and name. Without instr in between, the same lines tell what the
 * JVM itself and the clock take; with `stopwatch.so=nothing` in between, what any agent costs that sees classes.
 */
#include <jvmti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEEPEST = 64, MOST = 1 << 18 };

struct presented {
    jlong start;
    jlong start_cpu;
    const unsigned char *bytes;
};

/* Presenting a class may run Java code that loads another. */
static __thread struct presented under_way[DEEPEST];
static __thread int depth;

static struct {
    jlong nanos;
    jlong cpu_nanos;
    char *name;
} lines[MOST];
static int count;
static char file[4096];

static jlong now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void JNICALL start(jvmtiEnv *env, JNIEnv *jni, jclass redefined, jobject loader, const char *name,
                          jobject domain, jint length, const unsigned char *bytes, jint *new_length,
                          unsigned char **new_bytes) {
    if (depth < DEEPEST) {
        under_way[depth].bytes = bytes;
        under_way[depth].start_cpu = now(CLOCK_THREAD_CPUTIME_ID);
        under_way[depth].start = now(CLOCK_MONOTONIC);
    }
    depth++;
}

static void JNICALL stop(jvmtiEnv *env, JNIEnv *jni, jclass redefined, jobject loader, const char *name,
                         jobject domain, jint length, const unsigned char *bytes, jint *new_length,
                         unsigned char **new_bytes) {
    jlong end = now(CLOCK_MONOTONIC);
    jlong end_cpu = now(CLOCK_THREAD_CPUTIME_ID);
    if (--depth < 0) {
        depth = 0;
        return;
    }
    if (depth >= DEEPEST || name == NULL || redefined != NULL || under_way[depth].bytes != bytes) {
        return;
    }
    int line = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (line < MOST) {
        lines[line].nanos = end - under_way[depth].start;
        lines[line].cpu_nanos = end_cpu - under_way[depth].start_cpu;
        lines[line].name = strdup(name);
    }
}

static void JNICALL death(jvmtiEnv *env, JNIEnv *jni) {
    FILE *out = fopen(file, "w");
    if (out == NULL) {
        perror(file);
        return;
    }
    for (int line = 0; line < count && line < MOST; line++) {
        fprintf(out, "%lld %lld %s\n", (long long)lines[line].nanos, (long long)lines[line].cpu_nanos, lines[line].name);
    }
    fclose(out);
}

/* What every agent costs that asks to see classes. */
static void JNICALL nothing(jvmtiEnv *env, JNIEnv *jni, jclass redefined, jobject loader, const char *name,
                            jobject domain, jint length, const unsigned char *bytes, jint *new_length,
                            unsigned char **new_bytes) {}

/* Like instr, they see the classes only once the JVM is up, so that class data sharing stays as it is. */
static void JNICALL init(jvmtiEnv *env, JNIEnv *jni, jthread thread) {
    /* Classes that the agent in between needed for its own start were presented to the first half only. */
    depth = 0;
    (*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    jvmtiEnv *env;
    if (options == NULL || (*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_1_2) != JNI_OK) {
        return JNI_ERR;
    }
    int stops = strncmp(options, "stop:", 5) == 0;
    int starts = strcmp(options, "start") == 0;
    jvmtiEventCallbacks callbacks = {.VMInit = init, .ClassFileLoadHook = stops ? stop : starts ? start : nothing};
    if (stops) {
        snprintf(file, sizeof file, "%s", options + 5);
        callbacks.VMDeath = death;
        (*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL);
    }
    /* Agents that can retransform are asked behind those that cannot. */
    jvmtiCapabilities wanted = {.can_retransform_classes = 1, .can_generate_all_class_hook_events = 1};
    if ((*env)->AddCapabilities(env, &wanted) != JVMTI_ERROR_NONE) {
        return JNI_ERR;
    }
    (*env)->SetEventCallbacks(env, &callbacks, sizeof callbacks);
    (*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL);
    return JNI_OK;
}
