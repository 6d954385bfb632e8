// Package soap reads the SOAP requests of games and writes the replies that
// their readers understand. It knows no method: the backends of package
// webservices (auth, sake, competition, motd) implement those as Handlers.
//
// # Requests
//
// Clients send one request per connection, an Envelope with a Body with one
// element, whose name is the method. They name bytes outside of ASCII, spaces
// and control characters by references, one per byte of UTF-8: é is
// &#xc3;&#xa9;. Such a text is read as bytes if they are valid UTF-8, else each
// reference is a character. References to control characters, which XML does
// not allow, are accepted. Namespaces are ignored: only the part of a name
// behind the colon counts. Elements after the method are ignored too, even if it is
// missing.
//
// There are no entities but the five of XML, and no DOCTYPE. Depth, elements
// and attributes are bounded; see Parse.
//
// # Replies
//
// The reader of clients takes the children of an element in the order in which
// it expects them, and compares only as many letters of a name as the element
// has: an element "value" is taken for a search for "values". So a reply has its
// elements in the documented order, and none before another one whose name
// begins with its own. It knows no comments, no CDATA and no character references
// above 255: text is plain UTF-8.
package soap
