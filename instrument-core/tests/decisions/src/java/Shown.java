package bodies;

class NotShown {
    public void open() {
        System.out.println();
    }
}

public class Shown extends NotShown {}
