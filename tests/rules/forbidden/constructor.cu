// expect: attribute
static void __attribute__((__constructor__)) before_main() {}
