package lost;

/** The tests do not have this class: for them its super types are unknown. */
public class Base {}
