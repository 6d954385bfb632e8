// Package wire is the wire format of FESL and Theater, the sign-in service and game list of Electronic Arts' games:
// frames, the text in them, and messages that are longer than a frame. Everything in it is
// pure, and works for both sides.
//
// It does not know which requests there are, which package fesl does, and opens no
// connection.
//
// # Frames
//
// Numbers are big endian. The length counts the header.
//
//	offset  size
//	0       4     service, four letters: fsys, acct, subs ...
//	4       1     kind, see Kind
//	5       3     number of the request, which its answer repeats; 0: no request
//	8       4     length
//	12            payload
//
// # Text
//
// A payload is lines of key=value with LF between them, and a NUL at the end. Clients put
// a LF before the NUL, servers do not; readers take both, and frames without a NUL. The line
// TXN comes first and names the request. Keys match in any case of letters.
//
// In a value, the characters % = : " and those below space are %xx. A value with a
// space is put in double quotes.
//
//	x.[]=2  x.0=a  x.1=b             a list
//	x.[]=1  x.0.name=a  x.0.rank=1   a list of structures
//	x.{}=1  x.{key}=a                a map; the key is escaped like a value
//
// # Long messages
//
// A payload that does not fit in a frame is encoded in base64 and cut into pieces. Each
// piece is a frame of the same service and number, of kind ReplyPart or RequestPart, with
// the lines decodedSize (bytes of the payload; may be missing), size (characters of the
// whole base64 text) and data.
//
// # Theater
//
// The list of games, package theater, has the same frames with words of upper case letters, one to
// a datagram too. Kind and number are 40 00 00 00 in a request and 0 in an answer, and the line TID
// is the number; an error has a word of four letters there.
package wire
