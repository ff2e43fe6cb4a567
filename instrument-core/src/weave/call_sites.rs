//! Call sites: chosen invoke instructions of a method's own body, before and after which the runtime is called.
//!
//! A site is straight-line code without a frame of its own: `begin` before the invoke and `end` after it, each with the *scope*, a local
//! that the template declares (`Target.scope`), and the number of the site. Exception handlers that cover a site call `caught` first.
//! Sites are inserted together with the innermost template.

use std::fmt;

use crate::weave::refusal::Refusal;

/// An invoke instruction that gets a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// Offset of the invoke instruction in the original code.
    pub offset: u16,
    /// The number that the runtime is called with.
    pub number: u16,
}

/// A site that was planned but not inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedSite {
    /// The site.
    pub site: CallSite,
    /// Why.
    pub reason: SiteRefusal,
}

/// Why a site was not inserted, although its method was rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SiteRefusal {
    /// No invoke instruction begins at the offset.
    NotACall,
    /// Another site of the plan has the same offset.
    Repeated,
    /// It is in a constructor, at or before the call of `super()` or `this()`: an exception there ends the call without the template's
    /// epilog.
    BeforeSuper,
    /// No way through the code leads there, as far as can be known without frames.
    Unreachable,
    /// The innermost template does not declare a scope.
    NoScope,
    /// The method has a wrapper, which leaves its body as it is.
    Wrapped,
    /// The method can be rewritten without its sites, but not with them.
    Method(Refusal),
}

impl SiteRefusal {
    /// The name of the reason in statistics.
    pub fn key(&self) -> &'static str {
        match self {
            SiteRefusal::NotACall => "not-a-call",
            SiteRefusal::Repeated => "repeated-site",
            SiteRefusal::BeforeSuper => "before-super",
            SiteRefusal::Unreachable => "unreachable",
            SiteRefusal::NoScope => "no-scope",
            SiteRefusal::Wrapped => "wrapped",
            SiteRefusal::Method(reason) => reason.key(),
        }
    }
}

impl fmt::Display for SiteRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SiteRefusal::NotACall => "no invoke instruction begins there",
            SiteRefusal::Repeated => "the instruction has a site already",
            SiteRefusal::BeforeSuper => "the constructor has not called super() or this() yet",
            SiteRefusal::Unreachable => "no way through the code is known to lead there",
            SiteRefusal::NoScope => "the innermost template does not declare a scope with Target.scope()",
            SiteRefusal::Wrapped => "the method has a wrapper, which does not change its body",
            SiteRefusal::Method(reason) => return write!(f, "with its call sites the method {reason}"),
        })
    }
}

/// Refuses all sites of a method for the same reason.
pub(crate) fn refuse_all(sites: &[CallSite], reason: &SiteRefusal) -> Vec<RefusedSite> {
    sites.iter().map(|&site| RefusedSite { site, reason: reason.clone() }).collect()
}
