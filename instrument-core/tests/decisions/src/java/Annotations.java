package notes;

import java.lang.annotation.Inherited;
import java.lang.annotation.Repeatable;

@interface Service {}

@Service
@interface Stereotype {}

@Inherited
@interface Audited {}

@Repeatable(Schedules.class)
@interface Schedule {}

@interface Schedules {
    Schedule[] value();
}

interface Contract {
    @Audited
    void run();
}

@Service
@Audited
class Annotated implements Contract {
    public void run() {
        System.out.println();
    }
}

class Heir extends Annotated {
    @Override
    public void run() {
        System.out.println();
    }
}

@Stereotype
class MetaAnnotated {
    void run() {
        System.out.println();
    }
}

class Jobs {
    @Schedule
    void once() {
        System.out.println();
    }

    @Schedule
    @Schedule
    void twice() {
        System.out.println();
    }

    @Audited
    Jobs() {
        System.out.println();
    }
}
