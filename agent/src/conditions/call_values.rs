//! The values of one call, as a condition asks for them.

use instrument_core::rules::predicates::{
    MemberPath, Path, Root, Unreadable, Value, Values, baggage_entry, query_parameter,
};

use super::StepCondition;
use super::members::LENGTH;
use crate::jvm::{
    AnchoredCall, Array, Local, ObjectRef, PlainValue, ReadValue, RequestGetter, class_name, logging_context,
    plain_value, request_text, statement_text,
};

/// Arguments among which the request is looked for.
const MOST_ARGUMENTS: usize = 16;

/// Reads values of one call.
pub(super) struct CallValues<'c> {
    of: &'c StepCondition,
    call: AnchoredCall<'c>,
}

impl Values for CallValues<'_> {
    fn value(&mut self, path: &Path) -> Result<Value, Unreadable> {
        let AnchoredCall { jvmti, jni, arguments, receiver, .. } = self.call;
        let text = |text: Option<String>| text.map_or(Value::Null, Value::Text);
        match &path.root {
            Root::Argument(index) => {
                let index = usize::from(*index);
                if index >= arguments.count(jni) {
                    return Err(Unreadable(format!("a method of this name has no argument {index}")));
                }
                self.member_of(arguments.get(jni, index), &path.members)
            }
            Root::Receiver => {
                let receiver = receiver
                    .ok_or_else(|| Unreadable("a static method has no `this`, and a constructor not yet".to_owned()))?;
                self.within(receiver, &path.members)
            }
            Root::HttpPath => self.of_request(RequestGetter::Path).map(text),
            Root::HttpMethod => self.of_request(RequestGetter::Method).map(text),
            Root::HttpHeader(name) => self.of_request(RequestGetter::Header(name)).map(text),
            Root::HttpQuery(name) => {
                let query = self.of_request(RequestGetter::Query)?;
                let found = query.map(|query| query_parameter(&query, name)).transpose()?;
                Ok(text(found.flatten()))
            }
            Root::Baggage(key) => {
                let from = self.of_request(RequestGetter::RemoteAddress)?.unwrap_or_default();
                if !self.of.allowed.is_believed(&from) {
                    // Without the address: reasons are shown, values of requests are not.
                    let message = "baggage of this client is not believed: `baggage-from` in [conditions] does not name its address";
                    return Err(Unreadable(message.to_owned()));
                }
                let header = self.of_request(RequestGetter::Baggage)?;
                let found = header.map(|header| baggage_entry(&header, key)).transpose()?;
                Ok(text(found.flatten()))
            }
            Root::Mdc(key) => {
                let found = logging_context(jvmti, jni, key);
                found.map(text).map_err(Unreadable)
            }
            Root::Sql => statement_text(self.call).map(text).map_err(Unreadable),
        }
    }
}

impl<'c> CallValues<'c> {
    pub(super) fn new(of: &'c StepCondition, call: AnchoredCall<'c>) -> CallValues<'c> {
        CallValues { of, call }
    }

    /// The value of members after each other; null if one of the objects on the way is.
    fn member_of(&self, object: Option<Local<'_>>, members: &[MemberPath]) -> Result<Value, Unreadable> {
        object.map_or(Ok(Value::Null), |object| self.within(object.as_object(), members))
    }

    fn within(&self, object: ObjectRef<'_>, members: &[MemberPath]) -> Result<Value, Unreadable> {
        let AnchoredCall { jvmti, jni, .. } = self.call;
        let Some((first, rest)) = members.split_first() else {
            return Ok(match plain_value(jni, object) {
                Some(plain) => value_of(plain),
                None => Value::Object(class_name(jvmti, jni, object).unwrap_or_default()),
            });
        };
        let read = match self.of_array(object, first)? {
            Some(read) => read,
            None => self.of.members.read(self.call, object, first, &self.of.allowed).map_err(Unreadable)?,
        };
        match read {
            ReadValue::Plain(plain) if rest.is_empty() => Ok(value_of(plain)),
            ReadValue::Plain(_) => Err(Unreadable(format!("{} has no parts", super::members::written(first)))),
            ReadValue::Object(object) => self.within(object.as_object(), rest),
            ReadValue::Null => Ok(Value::Null),
        }
    }

    /// An element of an array, or its length; `None` if the member is none of an array.
    fn of_array(&self, object: ObjectRef<'_>, member: &MemberPath) -> Result<Option<ReadValue<'c>>, Unreadable> {
        let AnchoredCall { jvmti, jni, .. } = self.call;
        let index = match member {
            MemberPath::Element(index) => *index,
            MemberPath::Field(name) if name == LENGTH => {
                let length = |array: Array<'_>| ReadValue::Plain(PlainValue::Whole(array.length().into()));
                return Ok(Array::of(jni, object).map(length));
            }
            MemberPath::Field(_) | MemberPath::Getter(_) => return Ok(None),
        };
        let array = Array::of(jni, object).ok_or_else(|| {
            let class = class_name(jvmti, jni, object).unwrap_or_default();
            Unreadable(format!("an object of {class} is no array: only arrays have elements"))
        })?;
        let outside = || Unreadable(format!("index {index} of an array of length {}", array.length()));
        array.element(jni, index).ok_or_else(outside).map(Some)
    }

    /// What a getter of the request returns that is an argument of the call.
    fn of_request(&self, getter: RequestGetter<'_>) -> Result<Option<String>, Unreadable> {
        let AnchoredCall { jvmti, jni, arguments, .. } = self.call;
        for index in 0..arguments.count(jni).min(MOST_ARGUMENTS) {
            let Some(argument) = arguments.get(jni, index) else { continue };
            if let Some(text) = request_text(jvmti, jni, argument.as_object(), getter) {
                return text.map_err(|thrown| Unreadable(format!("a getter of the request has thrown {thrown}")));
            }
        }
        Err(Unreadable("none of the arguments is an HTTP request".to_owned()))
    }
}

fn value_of(plain: PlainValue) -> Value {
    match plain {
        PlainValue::Text(text) => Value::Text(text),
        PlainValue::Whole(whole) => Value::Whole(whole),
        PlainValue::Real(real) => Value::Real(real),
        PlainValue::Boolean(is) => Value::Boolean(is),
    }
}
