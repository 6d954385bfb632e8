package storage

import (
	"encoding/binary"
	"fmt"
	"time"
)

// SakeRow is a SAKE record in its stored form, for searches that look at many. Its
// fields are read one after the other with Next. The texts share the memory of the
// store and are valid only inside of the call that got the row.
//
// The stored form:
//
//	size    field
//	   4    owner, big-endian
//	   -    number of ratings, sum of ratings (unsigned varints)
//	   -    time of creation, time of the last change (signed varints, seconds since 1970)
//	   -    fields, to the end:
//	        column<<4 | type (unsigned varint)
//	        floats: 4 bytes, big-endian; texts and binary data: length (unsigned varint)
//	        and bytes; others: signed varint
//
// Columns are numbers of the table's list of columns, so that a search compares numbers
// instead of names.
type SakeRow struct {
	ID               uint32
	Owner            ProfileID
	Ratings          int
	RatingSum        int64
	Created, Changed int64 // seconds since 1970
	MyRating         int   // rating of the Rater of a scan; -1: none

	fields []byte
}

// Open makes r the row of a stored form. It shares the memory of stored.
func (r *SakeRow) Open(id uint32, stored []byte) error {
	if len(stored) < 4 {
		return errSakeRow(id)
	}
	r.MyRating = -1
	r.ID, r.Owner = id, ProfileID(binary.BigEndian.Uint32(stored))
	b := stored[4:]
	ratings, n := binary.Uvarint(b)
	if n <= 0 {
		return errSakeRow(id)
	}
	b = b[n:]
	sum, n := binary.Uvarint(b)
	if n <= 0 {
		return errSakeRow(id)
	}
	b = b[n:]
	created, n := binary.Varint(b)
	if n <= 0 {
		return errSakeRow(id)
	}
	b = b[n:]
	changed, n := binary.Varint(b)
	if n <= 0 {
		return errSakeRow(id)
	}
	r.Ratings, r.RatingSum, r.Created, r.Changed = int(ratings), int64(sum), created, changed
	r.fields = b[n:]
	return nil
}

func errSakeRow(id uint32) error { return fmt.Errorf("%w: SAKE record %d", ErrDamaged, id) }

// Next returns the next field and removes it from the row; ok is false at the end, and
// at damage, for which Rest is not 0.
func (r *SakeRow) Next() (column uint32, v SakeValue, ok bool) {
	head, n := binary.Uvarint(r.fields)
	if n <= 0 {
		return 0, v, false
	}
	b := r.fields[n:]
	v.Type = SakeType(head & 15)
	switch v.Type {
	case SakeByte, SakeShort, SakeInt, SakeInt64, SakeBoolean, SakeDate:
		if v.Num, n = binary.Varint(b); n <= 0 {
			return 0, v, false
		}
		b = b[n:]
	case SakeFloat:
		if len(b) < 4 {
			return 0, v, false
		}
		v.Num = int64(binary.BigEndian.Uint32(b))
		b = b[4:]
	case SakeASCII, SakeUnicode, SakeBinary:
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return 0, v, false
		}
		v.Text = b[n : n+int(size) : n+int(size)]
		b = b[n+int(size):]
	default:
		return 0, v, false
	}
	r.fields = b
	return uint32(head >> 4), v, true
}

// Rest returns the number of bytes that Next has not read.
func (r *SakeRow) Rest() int { return len(r.fields) }

// Record returns the row as a record with names of columns. It shares no memory with
// the row.
func (r SakeRow) Record(columns []SakeColumn) (SakeRecord, error) {
	out := SakeRecord{
		ID: r.ID, Owner: r.Owner, Ratings: r.Ratings, RatingSum: r.RatingSum,
		Created: time.Unix(r.Created, 0).UTC(), Changed: time.Unix(r.Changed, 0).UTC(),
	}
	for {
		column, v, ok := r.Next()
		if !ok {
			break
		}
		if int(column) >= len(columns) {
			return SakeRecord{}, errSakeRow(r.ID)
		}
		v.Text = append([]byte(nil), v.Text...)
		out.Fields = append(out.Fields, SakeField{Name: columns[column].Name, Value: v})
	}
	if r.Rest() > 0 {
		return SakeRecord{}, errSakeRow(r.ID)
	}
	return out, nil
}

// AppendSakeRow appends the stored form of a record. columns has the number of the
// column of each field.
func AppendSakeRow(b []byte, rec *SakeRecord, columns []uint32) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(rec.Owner))
	b = binary.AppendUvarint(b, uint64(rec.Ratings))
	b = binary.AppendUvarint(b, uint64(rec.RatingSum))
	b = binary.AppendVarint(b, rec.Created.Unix())
	b = binary.AppendVarint(b, rec.Changed.Unix())
	for i := range rec.Fields {
		v := &rec.Fields[i].Value
		b = binary.AppendUvarint(b, uint64(columns[i])<<4|uint64(v.Type))
		switch v.Type {
		case SakeFloat:
			b = binary.BigEndian.AppendUint32(b, uint32(v.Num))
		case SakeASCII, SakeUnicode, SakeBinary:
			b = append(binary.AppendUvarint(b, uint64(len(v.Text))), v.Text...)
		default:
			b = binary.AppendVarint(b, v.Num)
		}
	}
	return b
}
