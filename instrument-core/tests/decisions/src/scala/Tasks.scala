package tasks

import java.util.concurrent.ExecutorService

class ScalaTasks(executor: ExecutorService) {
  def lambda(): Unit = executor.execute(() => work())

  private def work(): Unit = println("work")
}
