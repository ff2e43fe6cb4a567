package shop;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.logging.LogManager;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** A servlet container with one page and one servlet, and the client that asks for both. */
public final class WebServer {

    private WebServer() {}

    public static void main(String[] pagesAndWork) throws Exception {
        LogManager.getLogManager().reset();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(pagesAndWork[1]);
        tomcat.setPort(0);
        Context context = tomcat.addWebapp("", pagesAndWork[0]);
        Tomcat.addServlet(context, "greeting", new Greeting());
        context.addServletMappingDecoded("/greeting", "greeting");
        tomcat.getConnector();
        tomcat.start();
        String address = "http://localhost:" + tomcat.getConnector().getLocalPort();
        for (String path : new String[] {"/total.jsp?n=2", "/greeting?n=one", "/total.jsp?n=5", "/total.jsp?n=-1", "/nowhere"}) {
            System.out.println(path + " " + answer(new URL(address + path)));
        }
        tomcat.stop();
        tomcat.destroy();
    }

    private static String answer(URL url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        if (connection.getResponseCode() != 200) {
            return "status " + connection.getResponseCode();
        }
        try (InputStream body = connection.getInputStream()) {
            return new String(body.readAllBytes(), StandardCharsets.UTF_8).trim();
        }
    }

    static final class Greeting extends HttpServlet {

        private static final long serialVersionUID = 1;

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.getWriter().print("hello " + request.getParameter("n"));
        }
    }
}
