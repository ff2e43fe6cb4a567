//! The header `traceparent` of W3C Trace Context, as templates record it.

/// To which trace a request belongs, and which span caused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace, its upper half first.
    pub trace: [u64; 2],
    /// The span; 0 if the trace begins here.
    pub span: u64,
}

impl TraceContext {
    /// Reads a header, `00-TRACE-SPAN-FLAGS`; `None` if it is not valid. What later versions add after the flags is ignored.
    pub fn parse(header: &str) -> Option<TraceContext> {
        let mut fields = header.split('-');
        let mut next = |length: usize| {
            let field = fields.next()?;
            let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            (field.len() == length && field.bytes().all(is_hex)).then_some(field)
        };
        let (version, trace, span) = (next(2)?, next(32)?, next(16)?);
        next(2)?;
        let (high, low) = trace.split_at_checked(16)?;
        let [high, low, span] = [high, low, span].map(|digits| u64::from_str_radix(digits, 16).ok());
        let context = TraceContext { trace: [high?, low?], span: span? };
        (version != "ff" && context.trace != [0, 0]).then_some(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_header_of_the_recommendation_is_ignored() {
        let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let trace = [0x0af7_6519_16cd_43dd, 0x8448_eb21_1c80_319c];
        assert_eq!(TraceContext::parse(valid), Some(TraceContext { trace, span: 0xb7ad_6b71_6920_3331 }));
        assert!(TraceContext::parse(&valid.replace("00-0", "cc-0").replace("-01", "-01-later")).is_some());
        let begins = valid.replace("b7ad6b7169203331", "0000000000000000");
        assert_eq!(TraceContext::parse(&begins).map(|context| context.span), Some(0));
        let zero = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        for wrong in ["", "00", &valid[..54], &valid.to_uppercase(), &valid.replace("00-0", "ff-0"), &zero, "00-é-1-01"]
        {
            assert_eq!(TraceContext::parse(wrong), None, "{wrong}");
        }
    }
}
