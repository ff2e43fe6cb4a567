//! Enums whose values are words in the configuration file.

/// An enum whose values are words in the file; written with [`declare_words!`](crate::declare_words).
pub trait Words: Copy + PartialEq + 'static {
    /// All values, each with its word and what it means.
    const WORDS: &'static [(Self, &'static str, &'static str)];
}

/// Declares an enum whose values are words in the file: `Variant = "word"`, with a description each.
#[macro_export]
macro_rules! declare_words {
    (
        $(#[$meta:meta])*
        pub enum $words:ident {
            $( $(#[doc = $about:literal])+ $variant:ident = $word:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $words {
            $( $(#[doc = $about])+ $variant, )+
        }

        impl $words {
            /// All values.
            pub const ALL: [$words; [$($word),+].len()] = [$($words::$variant),+];

            /// Returns the word used in configuration files.
            pub fn name(self) -> &'static str {
                match self {
                    $( $words::$variant => $word, )+
                }
            }
        }

        impl $crate::words::Words for $words {
            const WORDS: &'static [($words, &'static str, &'static str)] =
                &[$( ($words::$variant, $word, concat!($($about),+)) ),+];
        }
    };
}
