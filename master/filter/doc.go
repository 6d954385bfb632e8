// Package filter implements the filter language of server list requests: the
// condition, a WHERE clause without the WHERE, with which a game selects
// servers.
//
// A filter is compiled once per request and then matched against the text
// fields of many servers. Matching does not allocate (see Values for the one
// exception) and every match can be given a budget.
//
// The package knows nothing of servers, games or packets. It does not decide
// which fields exist, it does not cache, and it does not define how a service handles a filter that
// does not compile.
//
// # Grammar
//
// From the loosest to the tightest binding:
//
//	or       a or b      a || b
//	and      a and b     a && b
//	not      not a       !a
//	compare  =  ==  !=  <>  <  <=  >  >=  like  not like  is null  is not null
//	         in (a, b)  not in (a, b)
//	bits     &  |  ^  <<  >>
//	sum      +  -
//	term     *  /  %
//	minus    -a
//	value    12  1.5  1.5f  'text'  "text"  field  null  (a)
//
// Operators of one row group from the left. Comparisons do not chain: a = b = c
// is an error. Keywords and field names ignore case; a keyword is a whole word,
// so android is a field. Blanks are optional wherever they are not needed to
// part two words.
//
// Text stands between quotes of one kind, and a doubled quote inside stands for
// one. Typographic quotes count too, since some clients send them: the bytes
// 0x91 to 0x94, and U+2018 to U+201D in UTF-8. Any single typographic quote
// closes a single one of the same encoding, and any double one a double one.
//
// An empty or blank filter matches everything.
//
// # Values
//
// A field is text. It looks like a number when it is digits with an optional
// minus sign and an optional fraction, in at most 64 bytes. Whole numbers that
// fit 64 bits are exact; larger ones and those with a fraction are float64. A
// whole number that meets a float64 becomes one.
//
// A field the server does not have is the same as an empty one. It is null for
// "is null", 0 next to a number, and empty text otherwise. The field groupid is
// also null when it is "0".
//
// A calculated number is turned into decimal text when it meets text that is
// not a number, a quoted literal under = and !=, or like. That may allocate a
// few bytes; nothing else in matching does.
//
// # Comparisons
//
// For = and != with a quoted literal on either side, text is compared.
// Otherwise numbers are compared if both sides look like numbers (a quoted
// literal may), or one does and the other is an empty field. Otherwise text is
// compared.
//
// All comparisons of text, and like, ignore the case of the letters A to Z. The
// order of text is that of its bytes with these letters in lower case, so that
// <= and >= agree with =.
//
// In a like pattern % is any run of bytes, _ is any one byte (a character that
// takes several bytes needs as many), and \ takes the next byte as it is. The
// whole value must match. The pattern may be any value, also a field.
//
// a = null and a != null mean "is null" and "is not null".
//
// a in (b, c) is a = b or a = c, and a not in (b, c) is a != b and a != c; the
// list has at least one value.
//
// # Arithmetic
//
// Text that is not a number counts as 0, and text that looks like one as that
// number. Division of two whole numbers drops the fraction, and a remainder has
// the sign of its left side. A whole result beyond 64 bits becomes a float64.
// Bit operations drop fractions and work on 64 bits in two's complement; >>
// keeps the sign. A truth value is 1 or 0.
//
// These have the result null: division and remainder by zero, a shift by less
// than 0 or more than 63, a bit operation on a number beyond 64 bits, a result
// that is not finite, and anything calculated from null.
//
// # Truth
//
// A value on its own is true if it is a number other than 0, or text that is
// neither empty nor a number. Null is false, and so is every comparison with a
// null that is not a field. There is no third truth value: "not" makes true of
// any false.
package filter
