package tasks

import java.util.concurrent.ExecutorService

class KotlinTasks(private val executor: ExecutorService) {
    fun lambda() {
        executor.submit { work() }
    }

    fun reference() {
        executor.execute(::work)
    }

    fun single() {
        executor.execute(Single)
    }

    private fun work() = println("work")

    object Single : Runnable {
        override fun run() = println("single")
    }
}
