package shop;

import com.sun.net.httpserver.HttpServer;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.NotFoundException;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.ext.ExceptionMapper;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.logging.LogManager;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.glassfish.jersey.jdkhttp.JdkHttpServerFactory;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.servlet.ServletContainer;

/** Jersey on the HTTP server of the JDK ({@code jdk}) or in a servlet container ({@code tomcat DIRECTORY}), and the client. */
public final class MemberService {

    private MemberService() {}

    public static void main(String[] arguments) throws Exception {
        LogManager.getLogManager().reset();
        if (arguments[0].equals("jdk")) {
            HttpServer server = JdkHttpServerFactory.createHttpServer(URI.create("http://localhost:0/shop/api/"), application());
            ask(server.getAddress().getPort());
            // A client may have its answer before the call has ended that gave it.
            ExecutorService requests = (ExecutorService) server.getExecutor();
            requests.shutdown();
            requests.awaitTermination(5, TimeUnit.MINUTES);
            server.stop(0);
        } else {
            Tomcat tomcat = new Tomcat();
            tomcat.setBaseDir(arguments[1]);
            tomcat.setPort(0);
            Context context = tomcat.addContext("/shop", arguments[1]);
            Tomcat.addServlet(context, "jersey", new ServletContainer(application()));
            context.addServletMappingDecoded("/api/*", "jersey");
            tomcat.getConnector();
            tomcat.start();
            ask(tomcat.getConnector().getLocalPort());
            tomcat.stop();
            tomcat.destroy();
        }
        System.exit(0);
    }

    private static ResourceConfig application() {
        return new ResourceConfig(Members.class, FailingMapper.class);
    }

    /** Leaves an exception to the server: no answer of Jersey's own. */
    public static final class FailingMapper implements ExceptionMapper<UnsupportedOperationException> {

        @Override
        public Response toResponse(UnsupportedOperationException exception) {
            throw exception;
        }
    }

    private static void ask(int port) throws Exception {
        for (String path : new String[] {"members", "members/7", "members/8", "members/7/loans/3", "members/0", "members/13", "nowhere/5"}) {
            URL url = new URL("http://localhost:" + port + "/shop/api/" + path);
            HttpURLConnection connection = (HttpURLConnection) url.openConnection();
            int status = connection.getResponseCode();
            try (InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
                String text = status == 200 ? new String(body.readAllBytes(), StandardCharsets.UTF_8) : "";
                System.out.println(path + " " + status + " " + text);
            }
        }
    }

    @Path("members")
    public static final class Members {

        @GET
        public String all() {
            return "all";
        }

        @GET
        @Path("{id}")
        public String one(@PathParam("id") int id) {
            if (id == 0) {
                throw new NotFoundException();
            }
            if (id == 13) {
                throw new UnsupportedOperationException();
            }
            return "member " + id;
        }

        @Path("{id}/loans")
        public Loans loans(@PathParam("id") int id) {
            return new Loans();
        }
    }

    public static final class Loans {

        @GET
        @Path("{number}")
        public String one(@PathParam("number") int number) {
            return "loan " + number;
        }
    }
}
