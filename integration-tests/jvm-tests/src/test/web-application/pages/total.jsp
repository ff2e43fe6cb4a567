<%@ page contentType="text/plain" session="false" %><%!
    private int half(int n) { return n / 2; }
%><% int n = Integer.parseInt(request.getParameter("n")); if (n < 0) throw new IllegalArgumentException("n is " + n);
%>page: <% for (int i = 0; i < n; i++) { %>*<% } %> <%= half(n) %>
