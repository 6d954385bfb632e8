package ssl3

import (
	"crypto/md5"
	"crypto/rc4"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// Sizes of records in bytes.
const (
	headerLen = 5
	macLen    = md5.Size
	// maxData is the longest content of a record, without its MAC.
	maxData = 1 << 14
)

// Version is SSL 3.0, the only version that is spoken.
const (
	Version = 0x0300
	version = Version
)

type contentType byte

const (
	typeChangeCipherSpec contentType = 20
	typeAlert            contentType = 21
	typeHandshake        contentType = 22
	typeData             contentType = 23

	typeOldHello contentType = 0x80 // not on the wire: the hello of SSL 2, see oldHello
)

// OldHello is the first byte of a client whose hello has the form of SSL 2, if that is shorter than 256 bytes.
const OldHello = 0x80

// record is a record as it was received. The payload is only valid until the next one
// is read.
type record struct {
	typ     contentType
	version uint16
	payload []byte
}

// recordReader splits a stream into records. After an error of a deadline it continues
// where it was.
type recordReader struct {
	r    io.Reader
	buf  []byte // the present record
	have int    // bytes of it
	old  bool   // the first record may be a hello of SSL 2
}

// next reads one record whose payload has at most limit bytes. A stream that ends
// between two records ends with io.EOF, within one with io.ErrUnexpectedEOF.
func (r *recordReader) next(limit int) (record, error) {
	if r.old {
		rec, done, err := r.oldHello()
		if done || err != nil {
			return rec, err
		}
	}
	if err := r.fill(headerLen); err != nil {
		return record{}, err
	}
	rec := record{typ: contentType(r.buf[0]), version: binary.BigEndian.Uint16(r.buf[1:])}
	size := int(binary.BigEndian.Uint16(r.buf[3:]))
	switch {
	case rec.typ < typeChangeCipherSpec || rec.typ > typeData:
		return record{}, violation(AlertUnexpectedMessage, "unknown type of record")
	case rec.version>>8 != version>>8:
		return record{}, violation(AlertIllegalParameter, "unknown version of record")
	case size > limit:
		return record{}, violation(AlertIllegalParameter, "record too long")
	}
	if err := r.fill(headerLen + size); err != nil {
		return record{}, err
	}
	rec.payload, r.have = r.buf[headerLen:headerLen+size], 0
	return rec, nil
}

// oldHello reads a first record in the form of SSL 2; done is false if it has another form.
func (r *recordReader) oldHello() (rec record, done bool, err error) {
	if err := r.fill(oldHeader); err != nil {
		return rec, false, err
	}
	if r.buf[0]&OldHello == 0 {
		r.old = false
		return rec, false, nil
	}
	size := int(binary.BigEndian.Uint16(r.buf)) &^ (OldHello << 8)
	if size > maxHello {
		return rec, false, violation(AlertIllegalParameter, "hello too long")
	}
	if err := r.fill(oldHeader + size); err != nil {
		return rec, false, err
	}
	rec = record{typ: typeOldHello, version: version, payload: r.buf[oldHeader:]}
	r.old, r.have = false, 0
	return rec, true, nil
}

// fill reads until there are n bytes of the present record.
func (r *recordReader) fill(n int) error {
	if r.have >= n {
		return nil
	}
	r.buf = slices.Grow(r.buf[:r.have], n-r.have)[:n]
	for r.have < n {
		m, err := r.r.Read(r.buf[r.have:])
		r.have += m
		switch {
		case err == nil || r.have == n:
		case errors.Is(err, io.EOF) && r.have > 0:
			return io.ErrUnexpectedEOF
		default:
			return err
		}
	}
	return nil
}

// half is one direction of a connection: it seals or opens records. The zero value
// leaves them in the clear.
type half struct {
	stream *rc4.Cipher // nil: in the clear
	macKey [macLen]byte
	seq    uint64
}

// protect starts the encryption with the keys of a direction.
func (h *half) protect(macKey, key []byte) {
	*h = half{}
	copy(h.macKey[:], macKey)
	h.stream, _ = rc4.NewCipher(key) // fails for other lengths of keys
}

// limit is the longest payload of a record in this direction.
func (h *half) limit() int {
	if h.stream == nil {
		return maxData
	}
	return maxData + macLen
}

// seal appends the records with data to dst: at least one, each of at most maxData.
func (h *half) seal(dst []byte, typ contentType, data []byte) []byte {
	for {
		n := min(len(data), maxData)
		dst = h.sealOne(dst, typ, data[:n])
		if data = data[n:]; len(data) == 0 {
			return dst
		}
	}
}

func (h *half) sealOne(dst []byte, typ contentType, data []byte) []byte {
	size := len(data)
	if h.stream != nil {
		size += macLen
	}
	dst = append(dst, byte(typ), version>>8, version&0xff, byte(size>>8), byte(size))
	start := len(dst)
	dst = append(dst, data...)
	if h.stream == nil {
		return dst
	}
	mac := h.mac(typ, data)
	dst = append(dst, mac[:]...)
	h.stream.XORKeyStream(dst[start:], dst[start:])
	return dst
}

// open decrypts a payload in place and returns its data.
func (h *half) open(typ contentType, payload []byte) ([]byte, error) {
	if h.stream == nil {
		return payload, nil
	}
	if len(payload) < macLen {
		return nil, violation(AlertBadRecordMAC, "record shorter than its MAC")
	}
	h.stream.XORKeyStream(payload, payload)
	data, got := payload[:len(payload)-macLen], payload[len(payload)-macLen:]
	if want := h.mac(typ, data); subtle.ConstantTimeCompare(want[:], got) != 1 {
		return nil, violation(AlertBadRecordMAC, "wrong MAC")
	}
	return data, nil
}

// mac returns the MAC of the next record, and counts it.
func (h *half) mac(typ contentType, data []byte) (sum [macLen]byte) {
	var head [11]byte
	binary.BigEndian.PutUint64(head[:], h.seq)
	head[8] = byte(typ)
	binary.BigEndian.PutUint16(head[9:], uint16(len(data)))
	h.seq++

	inner := md5.New()
	inner.Write(h.macKey[:])
	inner.Write(padInner[:padMD5])
	inner.Write(head[:])
	inner.Write(data)
	outer := md5.New()
	outer.Write(h.macKey[:])
	outer.Write(padOuter[:padMD5])
	outer.Write(inner.Sum(sum[:0]))
	outer.Sum(sum[:0])
	return sum
}
