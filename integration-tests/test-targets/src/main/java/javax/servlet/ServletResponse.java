package javax.servlet;

/** As much of the old servlet API as a request needs. */
public interface ServletResponse {}
