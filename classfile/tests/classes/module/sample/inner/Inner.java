package sample.inner;

public class Inner {}
