package io.instr.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Method;
import org.junit.jupiter.api.Test;

/** Which route a request has, by what a template could read of it. */
class RequestTest {

    /** Jersey 2 leaves an exception that nobody maps to the server: the request ends without a status, and its route is known. */
    @Test
    void aRequestToJerseyWithoutAnAnswerHasItsRoute() throws Exception {
        Class<?> type = Class.forName("java.instr.Request");
        Object request = type.getMethod("unread").invoke(null);
        type.getField("contextPath").set(request, "/shop/api/");
        type.getMethod("matchedWithin", String.class).invoke(request, "{id}");
        type.getMethod("matchedWithin", String.class).invoke(request, "members");
        assertEquals("/shop/api/members/{id}", route(type, request));
        type.getField("isComplete").set(request, true);
        assertEquals("/shop/api/members/{id}", route(type, request));
    }

    @Test
    void aRequestOfWhichAGetterFailedHasNoRouteOfSpring() throws Exception {
        Class<?> type = Class.forName("java.instr.Request");
        Object request = type.getMethod("unread").invoke(null);
        type.getField("contextPath").set(request, "/shop");
        type.getField("pattern").set(request, "/members/{id}");
        assertEquals("", route(type, request));
        type.getField("isComplete").set(request, true);
        assertEquals("/shop/members/{id}", route(type, request));
    }

    private static String route(Class<?> type, Object request) throws Exception {
        Method route = type.getDeclaredMethod("route", Object.class);
        route.setAccessible(true);
        return (String) route.invoke(request, type.getField("pattern").get(request));
    }
}
