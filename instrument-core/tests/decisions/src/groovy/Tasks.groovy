package tasks

import java.util.concurrent.ExecutorService

class GroovyTasks {
    ExecutorService executor

    void closure() {
        executor.execute({ work() } as Runnable)
    }

    void work() {
    }
}
