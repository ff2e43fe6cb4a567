package targets;

import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

/** A servlet of the old API and its container in one. */
public final class Servlets {

    private Servlets() {}

    public static void main(String[] arguments) {
        HttpServlet servlet = new Counter();
        for (String path : new String[] {"/one", "/two", "/missing", "/fails"}) {
            Response response = new Response();
            try {
                servlet.service(new Request(path), response);
                System.out.println(path + " " + response.getStatus());
            } catch (IllegalStateException thrown) {
                System.out.println(path + " " + thrown.getMessage());
            }
        }
    }

    static final class Counter extends HttpServlet {

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) {
            switch (request.getRequestURI()) {
                case "/missing":
                    response.setStatus(404);
                    break;
                case "/fails":
                    throw new IllegalStateException("failed");
                default:
                    response.setStatus(200);
            }
        }
    }

    static final class Request implements HttpServletRequest {

        private final String path;

        Request(String path) {
            this.path = path;
        }

        @Override
        public String getMethod() {
            return "GET";
        }

        @Override
        public String getRequestURI() {
            return path;
        }
    }

    static final class Response implements HttpServletResponse {

        private int status;

        @Override
        public int getStatus() {
            return status;
        }

        @Override
        public void setStatus(int status) {
            this.status = status;
        }
    }
}
