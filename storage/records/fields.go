package records

import (
	"encoding/binary"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// fields reads or writes the binary form of a record, which takes half the space
// of its JSON: the fields that are not zero, in the order of their tags.
//
//	number   tag, value (varint)
//	text     tag, length (unsigned varint), bytes
//	words    like text: 8 bytes each, big-endian
//	time     tag, seconds since 1970 (varint), nanoseconds (unsigned varint)
//	item     like text: the fields of one item of a list
//
// One function for each kind of record, such as userFields, names its fields for
// both directions. A tag belongs to its field for ever; a new field gets a higher
// tag and a new schema number, because programs that do not know a tag take the
// record for damaged.
type fields struct {
	reading bool
	data    []byte // data written, or still to be read
	bad     bool   // the data is not a record
}

// next reports whether the next field that is read has a tag, and skips the tag.
func (f *fields) next(tag byte) bool {
	if len(f.data) == 0 || f.data[0] != tag {
		return false
	}
	f.data = f.data[1:]
	return true
}

// read skips n bytes, the size of a varint that was read.
func (f *fields) read(n int) {
	if n <= 0 {
		f.bad, f.data = true, nil
		return
	}
	f.data = f.data[n:]
}

func (f *fields) varint() int64 {
	v, n := binary.Varint(f.data)
	f.read(n)
	return v
}

func (f *fields) uvarint() uint64 {
	v, n := binary.Uvarint(f.data)
	f.read(n)
	return v
}

// bytes returns a text, which shares the memory of the record.
func (f *fields) bytes() []byte {
	n := f.uvarint()
	if n > uint64(len(f.data)) {
		f.bad, f.data = true, nil
		return nil
	}
	text := f.data[:n:n]
	f.data = f.data[n:]
	return text
}

// number is a field that is a number.
func number[N ~int | ~int32 | ~uint8 | ~uint32 | ~uint64](f *fields, tag byte, n *N) {
	switch {
	case !f.reading && *n != 0:
		f.data = binary.AppendVarint(append(f.data, tag), int64(*n))
	case f.reading && f.next(tag):
		v := f.varint()
		*n = N(v)
		f.bad = f.bad || int64(*n) != v
	}
}

// text is a field of bytes, which are copied.
func text[S ~string | ~[]byte](f *fields, tag byte, s *S) {
	switch {
	case !f.reading && len(*s) > 0:
		f.data = append(binary.AppendUvarint(append(f.data, tag), uint64(len(*s))), *s...)
	case f.reading && f.next(tag):
		if b := f.bytes(); len(b) > 0 {
			*s = S(string(b))
		}
	}
}

// words is a field of several numbers without small ones.
func (f *fields) words(tag byte, w *[]uint64) {
	switch {
	case !f.reading && len(*w) > 0:
		f.data = binary.AppendUvarint(append(f.data, tag), 8*uint64(len(*w)))
		for _, n := range *w {
			f.data = binary.BigEndian.AppendUint64(f.data, n)
		}
	case f.reading && f.next(tag):
		all := f.bytes()
		f.bad = f.bad || len(all)%8 != 0
		for ; len(all) >= 8; all = all[8:] {
			*w = append(*w, binary.BigEndian.Uint64(all))
		}
	}
}

// time is a field that is a time in UTC.
func (f *fields) time(tag byte, t *time.Time) {
	switch {
	case !f.reading && !t.IsZero():
		f.data = append(f.data, tag)
		f.bareTime(t)
	case f.reading && f.next(tag):
		f.bareTime(t)
	}
}

// bareTime is a time without a tag.
func (f *fields) bareTime(t *time.Time) {
	if !f.reading {
		f.data = binary.AppendVarint(f.data, t.Unix())
		f.data = binary.AppendUvarint(f.data, uint64(t.Nanosecond()))
		return
	}
	seconds, nanos := f.varint(), f.uvarint()
	f.bad = f.bad || nanos >= uint64(time.Second)
	*t = time.Unix(seconds, int64(nanos)).UTC()
}

// items is a field that is a list; of names the fields of an item.
func items[T any](f *fields, tag byte, all *[]T, of func(*fields, *T)) {
	if !f.reading {
		for i := range *all {
			var one fields
			of(&one, &(*all)[i])
			f.data = append(binary.AppendUvarint(append(f.data, tag), uint64(len(one.data))), one.data...)
		}
		return
	}
	for f.next(tag) {
		one := fields{reading: true, data: f.bytes()}
		var item T
		of(&one, &item)
		f.bad = f.bad || one.bad || len(one.data) > 0
		*all = append(*all, item)
	}
}

func userFields(f *fields, u *storage.User) {
	number(f, 1, &u.ID)
	number(f, 2, &u.Partner)
	text(f, 3, &u.Email)
	text(f, 4, &u.Secret)
	text(f, 5, &u.Password)
	text(f, 6, &u.Reset.Digest)
	f.time(7, &u.Reset.Expires)
	number(f, 8, &u.Passwords)
	f.words(9, &u.Homes)
	f.time(10, &u.Ban.Added)
	f.time(11, &u.Ban.Expires)
	text(f, 12, &u.Ban.Reason)
	text(f, 13, &u.Ban.By)
	f.time(14, &u.Created)
	number(f, 15, &u.Rev)
}

func profileFields(f *fields, p *storage.Profile) {
	number(f, 1, &p.ID)
	number(f, 2, &p.User)
	text(f, 3, &p.Nick)
	items(f, 4, &p.UniqueNicks, func(f *fields, n *storage.UniqueNick) {
		number(f, 1, &n.Namespace)
		text(f, 2, &n.Nick)
		text(f, 3, &n.Key)
	})
	items(f, 5, &p.CDKeys, func(f *fields, k *storage.CDKey) {
		text(f, 1, &k.Game)
		text(f, 2, &k.Digest)
		text(f, 3, &k.Hash)
		text(f, 4, &k.Sealed)
		f.time(5, &k.Added)
	})
	text(f, 6, &p.FirstName)
	text(f, 7, &p.LastName)
	text(f, 8, &p.Homepage)
	text(f, 9, &p.Zip)
	text(f, 10, &p.Country)
	text(f, 11, &p.Place)
	text(f, 12, &p.AIM)
	number(f, 13, &p.ICQ)
	number(f, 14, &p.Birthday)
	number(f, 15, &p.Sex)
	number(f, 16, &p.PublicMask)
	number(f, 17, &p.Picture)
	number(f, 18, &p.Occupation)
	number(f, 19, &p.Industry)
	number(f, 20, &p.Income)
	number(f, 21, &p.Married)
	number(f, 22, &p.Children)
	number(f, 23, &p.Interests)
	number(f, 24, &p.Ownership)
	number(f, 25, &p.Connection)
	f.time(26, &p.Created)
	number(f, 27, &p.Rev)
}

// appendFields returns the binary form of a record, if its kind has one.
func appendFields(record any) (payload []byte, ok bool) {
	var f fields
	switch r := record.(type) {
	case storage.User:
		userFields(&f, &r)
	case storage.Profile:
		profileFields(&f, &r)
	default:
		return nil, false
	}
	return f.data, true
}

// decodeFields reads the binary form of a record into *record, which is zero.
func decodeFields[R any](payload []byte, record *R) error {
	f := fields{reading: true, data: payload}
	switch r := any(record).(type) {
	case *storage.User:
		userFields(&f, r)
	case *storage.Profile:
		profileFields(&f, r)
	}
	err := f.end("not the fields of a record")
	if err != nil {
		*record = *new(R)
	}
	return err
}
