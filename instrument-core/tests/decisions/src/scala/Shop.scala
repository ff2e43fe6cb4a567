package sc

trait Greeter {
  def greet(): String = "hello".toUpperCase
  def name: String
}

class Shop(val title: String) extends Greeter {
  def name: String = title.trim
  def +(other: Shop): Shop = new Shop(title + other.title)
  def stock(amount: Int = title.length): Int = amount * title.hashCode
  lazy val slow: String = title.reverse
  def each(names: List[String]): List[Int] = names.map(text => text.trim.length)
  def later: () => String = () => title.toLowerCase
}

object Shop {
  def open(title: String): Shop = new Shop(title.trim)
}

case class Item(name: String, price: Int)

object Main {
  def main(arguments: Array[String]): Unit = println(arguments.length)
}
