module greeter {
    exports greeter to app;
}
