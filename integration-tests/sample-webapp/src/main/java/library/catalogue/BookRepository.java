package library.catalogue;

import java.util.List;
import org.springframework.data.jpa.repository.EntityGraph;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.Query;

public interface BookRepository extends JpaRepository<Book, String> {

    @EntityGraph(attributePaths = "author")
    List<Book> findByTitleContainingIgnoreCaseOrderByIsbn(String part);

    @Query("""
            select new library.catalogue.AuthorTotal(a.name, count(b), sum(b.copies))
            from Book b join b.author a
            group by a.name order by a.name""")
    List<AuthorTotal> totalsByAuthor();
}
