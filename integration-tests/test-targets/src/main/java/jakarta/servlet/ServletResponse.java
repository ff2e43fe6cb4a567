package jakarta.servlet;

/** As much of the servlet API as a request needs. */
public interface ServletResponse {}
