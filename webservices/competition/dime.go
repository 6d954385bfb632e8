package competition

import (
	"encoding/binary"
	"errors"
	"io"
)

// Flags of a DIME record, and its version above them.
const (
	dimeFirst   = 4
	dimeLast    = 2
	dimeChunked = 1
	dimeVersion = 1
)

// Formats of the type of a DIME record.
const (
	dimeMedia = 1
	dimeURI   = 2
)

// Limits of a DIME message.
const (
	maxDIME        = 128 << 10 // bytes
	maxDIMERecords = 8
	dimeHeader     = 12
)

// errDIME means that a message cannot be read.
var errDIME = errors.New("malformed DIME message")

// piece is one record of a DIME message.
type piece struct {
	format  byte // of typ
	id, typ string
	data    []byte
}

// readDIME reads a message. It stops behind the record that is marked as the last one,
// because the announced length may be longer; padding at the end may be missing.
func readDIME(r io.Reader) (parts []piece, err error) {
	left := maxDIME
	for {
		p, flags, err := readPart(r, &left)
		switch {
		case err != nil:
			return nil, err
		case flags>>3 != dimeVersion, flags&dimeChunked != 0, (flags&dimeFirst != 0) != (len(parts) == 0):
			return nil, errDIME
		}
		parts = append(parts, p)
		if flags&dimeLast != 0 {
			return parts, nil
		}
		if len(parts) == maxDIMERecords {
			return nil, errDIME
		}
	}
}

// readPart reads a record of at most left bytes, which it reduces.
func readPart(r io.Reader, left *int) (p piece, flags byte, err error) {
	var head [dimeHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return p, 0, err
	}
	be := binary.BigEndian
	flags, p.format = head[0], head[1]>>4
	var fields [4][]byte
	for i, n := range []int64{int64(be.Uint16(head[2:])), int64(be.Uint16(head[4:])), int64(be.Uint16(head[6:])), int64(be.Uint32(head[8:]))} {
		if n > int64(*left) {
			return p, 0, errDIME
		}
		*left -= int(n)
		fields[i] = make([]byte, n)
		if _, err := io.ReadFull(r, fields[i]); err != nil {
			return p, 0, err
		}
		var padding [3]byte
		if _, err := io.ReadFull(r, padding[:padded(int(n))-int(n)]); err != nil {
			if i == 3 && flags&dimeLast != 0 {
				break
			}
			return p, 0, err
		}
	}
	p.id, p.typ, p.data = string(fields[1]), string(fields[2]), fields[3]
	return p, flags, nil
}

// padded returns n rounded up to a multiple of four.
func padded(n int) int { return (n + 3) &^ 3 }

func appendDIME(dst []byte, parts []piece) []byte {
	be := binary.BigEndian
	for i, p := range parts {
		flags := byte(dimeVersion << 3)
		if i == 0 {
			flags |= dimeFirst
		}
		if i == len(parts)-1 {
			flags |= dimeLast
		}
		dst = append(dst, flags, p.format<<4, 0, 0)
		dst = be.AppendUint16(be.AppendUint16(dst, uint16(len(p.id))), uint16(len(p.typ)))
		dst = be.AppendUint32(dst, uint32(len(p.data)))
		for _, field := range []string{p.id, p.typ, string(p.data)} {
			dst = append(dst, field...)
			dst = append(dst, make([]byte, padded(len(field))-len(field))...)
		}
	}
	return dst
}

// AppendMessage appends the body of a request with a report, as games write it.
func AppendMessage(dst, envelope, report []byte) []byte {
	return appendDIME(dst, []piece{
		{format: dimeURI, id: "cid:id0", typ: "http://schemas.xmlsoap.org/soap/envelope/", data: envelope},
		{format: dimeMedia, id: "report", typ: "application/bin", data: report},
	})
}
