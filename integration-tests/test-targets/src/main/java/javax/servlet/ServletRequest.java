package javax.servlet;

/** As much of the old servlet API as a request needs; the real one is not worth a dependency here. */
public interface ServletRequest {}
