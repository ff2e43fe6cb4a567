package sample;

public class Main implements Runnable {
    @Override
    public void run() {}

    public static void main(String[] arguments) {}
}
