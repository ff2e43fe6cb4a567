package kt

import kotlin.coroutines.Continuation

fun topLevel(name: String = "x", times: Int = 3): String = name.repeat(times)

fun String.shout(): String = uppercase() + "!"

interface Greeter {
    fun greet(): String = "hello".uppercase()
}

open class Shop(val title: String) : Greeter {
    var count: Int = 0

    internal fun stock(): Int = title.hashCode()

    fun later(): () -> String = { title.lowercase() }

    fun each(names: List<String>): List<Int> = names.map { it.trim().length }

    suspend fun fetch(other: Shop): String {
        val first = other.fetch(this)
        return first + other.fetch(this)
    }

    fun sam(): Runnable = Runnable { println(title) }

    companion object {
        @JvmStatic
        fun open(title: String): Shop = Shop(title.trim())

        fun hidden(): Int = "x".hashCode()
    }
}

data class Item(val name: String, val price: Int)

object Registry {
    fun register(item: Item): Boolean = item.name.isBlank()
}

@JvmInline
value class Money(val cents: Long) {
    fun show(): String = cents.toString().padStart(5)
}

class Till {
    fun pay(money: Money): String = money.show()
}

class Deferred<T>(private val make: () -> T) : Lazy<T> {
    override val value: T get() = make()
    override fun isInitialized(): Boolean = make() != null
}

class ByDelegate(greeter: Greeter) : Greeter by greeter
