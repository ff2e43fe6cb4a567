module app {
    requires greeter;
}
