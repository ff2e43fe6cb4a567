package jakarta.servlet;

/** As much of the servlet API as a request needs; the real one is not worth a dependency here. */
public interface ServletRequest {}
