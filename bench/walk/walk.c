/*
 * An experiment, not part of instr: asks the JVM for the caller of a method in the ways that JVMTI has.
 *
 *   java -agentpath:walk.so=finder|breakpoint|entry|pop|retransform ... Walk ...
 *
 * A JVM gets only the capabilities of the way that it measures: some of them change what HotSpot compiles.
 */
#include <jvmti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 6 };

static jvmtiEnv *jvmti;
/* The method that is asked about by events, and the caller that is looked for. */
static jmethodID hot, expected;
/* Written by the measured thread only. */
static jlong events, callers;

static void check(jvmtiError error, const char *what) {
    if (error != JVMTI_ERROR_NONE) {
        fprintf(stderr, "error: %s: JVMTI error %d\n", what, error);
        exit(1);
    }
}

/* What a finder does in a hit: it looks at the frames from the hot method on; the next one is its caller. */
static void look(jint start, jint wanted) {
    jvmtiFrameInfo frames[MOST];
    jint count = 0;
    check((*jvmti)->GetStackTrace(jvmti, NULL, start, wanted, frames, &count), "GetStackTrace");
    callers += count > 1 && frames[1].method == expected;
}

static void JNICALL on_breakpoint(jvmtiEnv *env, JNIEnv *jni, jthread thread, jmethodID method, jlocation location) {
    events++;
    look(0, 2);
}

/* Posted for every call of the thread. */
static void JNICALL on_method_entry(jvmtiEnv *env, JNIEnv *jni, jthread thread, jmethodID method) {
    events++;
    if (method == hot) {
        look(0, 2);
    }
}

static void JNICALL on_frame_pop(jvmtiEnv *env, JNIEnv *jni, jthread thread, jmethodID method, jboolean by_exception) {
    events++;
    look(0, 2);
}

JNIEXPORT void JNICALL Java_Walk_empty(JNIEnv *jni, jclass walk) {}

/* Frame 0 is this native method; at most MOST frames. */
JNIEXPORT void JNICALL Java_Walk_find(JNIEnv *jni, jclass walk, jint frames) { look(1, frames); }

JNIEXPORT void JNICALL Java_Walk_notifyPop(JNIEnv *jni, jclass walk) { check((*jvmti)->NotifyFramePop(jvmti, NULL, 1), "NotifyFramePop"); }

JNIEXPORT void JNICALL Java_Walk_choose(JNIEnv *jni, jclass walk, jobject hot_method, jobject caller) {
    hot = (*jni)->FromReflectedMethod(jni, hot_method);
    expected = (*jni)->FromReflectedMethod(jni, caller);
}

JNIEXPORT void JNICALL Java_Walk_trap(JNIEnv *jni, jclass walk, jboolean set) {
    check(set ? (*jvmti)->SetBreakpoint(jvmti, hot, 0) : (*jvmti)->ClearBreakpoint(jvmti, hot, 0), "breakpoint");
}

/* For the current thread alone. */
JNIEXPORT void JNICALL Java_Walk_post(JNIEnv *jni, jclass walk, jint event, jboolean on) {
    jthread thread;
    check((*jvmti)->GetCurrentThread(jvmti, &thread), "GetCurrentThread");
    check((*jvmti)->SetEventNotificationMode(jvmti, on ? JVMTI_ENABLE : JVMTI_DISABLE, (jvmtiEvent)event, thread), "event");
}

JNIEXPORT void JNICALL Java_Walk_retransform(JNIEnv *jni, jclass walk, jclass changed) {
    check((*jvmti)->RetransformClasses(jvmti, 1, &changed), "RetransformClasses");
}

JNIEXPORT jlong JNICALL Java_Walk_callers(JNIEnv *jni, jclass walk) { return callers; }

JNIEXPORT jlong JNICALL Java_Walk_events(JNIEnv *jni, jclass walk) { return events; }

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *way, void *reserved) {
    jvmtiCapabilities wanted = {0};
    jvmtiEventCallbacks callbacks = {.Breakpoint = on_breakpoint, .MethodEntry = on_method_entry, .FramePop = on_frame_pop};
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK) {
        return JNI_ERR;
    }
    wanted.can_generate_breakpoint_events = strcmp(way, "breakpoint") == 0;
    wanted.can_generate_method_entry_events = strcmp(way, "entry") == 0;
    wanted.can_generate_frame_pop_events = strcmp(way, "pop") == 0;
    wanted.can_retransform_classes = strcmp(way, "retransform") == 0;
    check((*jvmti)->AddCapabilities(jvmti, &wanted), "AddCapabilities");
    check((*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks)), "SetEventCallbacks");
    return JNI_OK;
}
