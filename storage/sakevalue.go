package storage

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SakeType is the type of a value in a SAKE record. The numbers are stored.
type SakeType uint8

// The types, named as on the wire.
const (
	SakeByte    SakeType = iota + 1 // SakeByte is a number from 0 to 255.
	SakeShort                       // SakeShort is a signed number of 16 bits.
	SakeInt                         // SakeInt is a signed number of 32 bits.
	SakeInt64                       // SakeInt64 is a signed number of 64 bits.
	SakeFloat                       // SakeFloat is a finite number of 32 bits.
	SakeASCII                       // SakeASCII is a text.
	SakeUnicode                     // SakeUnicode is a text.
	SakeBoolean                     // SakeBoolean is 0 or 1.
	SakeDate                        // SakeDate is a time in seconds.
	SakeBinary                      // SakeBinary is any bytes.
)

// sakeTypeNames are the names of the types on the wire, by number.
var sakeTypeNames = [...]string{
	"", "byteValue", "shortValue", "intValue", "int64Value", "floatValue", "asciiStringValue", "unicodeStringValue",
	"booleanValue", "dateAndTimeValue", "binaryDataValue",
}

// String returns the name of the type on the wire, such as "intValue".
func (t SakeType) String() string {
	if !t.Valid() {
		return "unknown"
	}
	return sakeTypeNames[t]
}

// Valid reports whether t is one of the types.
func (t SakeType) Valid() bool { return t >= SakeByte && t <= SakeBinary }

// IsText reports whether values of the type are texts.
func (t SakeType) IsText() bool { return t == SakeASCII || t == SakeUnicode }

// IsNumber reports whether values of the type are numbers.
func (t SakeType) IsNumber() bool { return t >= SakeByte && t <= SakeFloat }

// SakeTypeByName returns the type with a name on the wire, 0 if there is none.
func SakeTypeByName(name string) SakeType {
	return SakeType(max(0, slices.Index(sakeTypeNames[1:], name)+1))
}

// SakeValue is a value in a SAKE record. The zero value is none.
type SakeValue struct {
	Type SakeType
	Num  int64  // numbers, Booleans, seconds since 1970, or the bits of a float
	Text []byte // texts and binary data
}

// SakeFloatValue returns the value of a float.
func SakeFloatValue(f float32) SakeValue {
	return SakeValue{Type: SakeFloat, Num: int64(math.Float32bits(f))}
}

// Float returns the number of a value of type SakeFloat.
func (v SakeValue) Float() float32 { return math.Float32frombits(uint32(v.Num)) }

// The forms of dates: with or without fractions and zone, which is UTC by default.
const (
	sakeDate     = "2006-01-02T15:04:05"
	sakeDateZone = "2006-01-02T15:04:05Z07:00"
)

// The years of a date have four digits.
var (
	firstSakeDate = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	lastSakeDate  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
)

// ParseSakeValue returns the value that a text means as type t. The error matches
// ErrInvalid.
func ParseSakeValue(t SakeType, text string) (SakeValue, error) {
	v := SakeValue{Type: t}
	var err error
	switch t {
	case SakeByte:
		var n uint64
		n, err = strconv.ParseUint(text, 10, 8)
		v.Num = int64(n)
	case SakeShort:
		v.Num, err = strconv.ParseInt(text, 10, 16)
	case SakeInt:
		v.Num, err = strconv.ParseInt(text, 10, 32)
	case SakeInt64:
		v.Num, err = strconv.ParseInt(text, 10, 64)
	case SakeFloat:
		var f float64
		f, err = strconv.ParseFloat(text, 32)
		v = SakeFloatValue(float32(f))
	case SakeASCII, SakeUnicode:
		v.Text = []byte(text)
	case SakeBoolean:
		v.Num, err = parseSakeBoolean(text)
	case SakeDate:
		v.Num, err = parseSakeDate(text)
	case SakeBinary:
		v.Text, err = base64.StdEncoding.DecodeString(text)
	default:
		return SakeValue{}, invalid("%d is not a type of values", t)
	}
	if len(v.Text) == 0 {
		v.Text = nil
	}
	if err == nil {
		err = v.Check()
	}
	if err != nil {
		return SakeValue{}, invalid("%.40q is not of type %v", text, t)
	}
	return v, nil
}

func parseSakeBoolean(text string) (int64, error) {
	switch strings.ToLower(text) {
	case "1", "true":
		return 1, nil
	case "0", "false":
		return 0, nil
	}
	return 0, ErrInvalid
}

func parseSakeDate(text string) (int64, error) {
	t, err := time.Parse(sakeDateZone, text)
	if err != nil {
		t, err = time.Parse(sakeDate, text)
	}
	return t.Unix(), err
}

// String returns the text of a value, which ParseSakeValue reads. A date has no zone,
// Booleans are "true" and "false": the only forms that clients understand.
func (v SakeValue) String() string { return string(v.AppendText(nil)) }

// AppendText appends the text of a value, see String.
func (v SakeValue) AppendText(b []byte) []byte {
	switch v.Type {
	case SakeByte, SakeShort, SakeInt, SakeInt64:
		return strconv.AppendInt(b, v.Num, 10)
	case SakeFloat:
		return strconv.AppendFloat(b, float64(v.Float()), 'f', -1, 32)
	case SakeBoolean:
		return strconv.AppendBool(b, v.Num != 0)
	case SakeDate:
		return time.Unix(v.Num, 0).UTC().AppendFormat(b, sakeDate)
	case SakeBinary:
		return base64.StdEncoding.AppendEncode(b, v.Text)
	default:
		return append(b, v.Text...)
	}
}

// Empty returns the value of a field that a record lacks: 0, false, the beginning of
// 1970, or nothing.
func (t SakeType) Empty() SakeValue { return SakeValue{Type: t} }

// Check returns an error that matches ErrInvalid for a value that its type cannot
// have.
func (v SakeValue) Check() error {
	ok := true
	switch v.Type {
	case SakeByte:
		ok = v.Num >= 0 && v.Num <= math.MaxUint8
	case SakeShort:
		ok = v.Num >= math.MinInt16 && v.Num <= math.MaxInt16
	case SakeInt:
		ok = v.Num >= math.MinInt32 && v.Num <= math.MaxInt32
	case SakeInt64:
	case SakeFloat:
		f := float64(v.Float())
		ok = v.Num >= 0 && v.Num <= math.MaxUint32 && !math.IsNaN(f) && !math.IsInf(f, 0)
	case SakeBoolean:
		ok = v.Num == 0 || v.Num == 1
	case SakeDate:
		ok = v.Num >= firstSakeDate && v.Num <= lastSakeDate
	case SakeASCII, SakeUnicode, SakeBinary:
		if len(v.Text) > MaxSakeValue {
			return invalid("a value is longer than %d bytes", MaxSakeValue)
		}
		ok = v.Num == 0
	default:
		ok = false
	}
	if !ok {
		return invalid("a value is not of type %v", v.Type)
	}
	return nil
}

// sakeValueJSON is the form of a value in exports.
type sakeValueJSON struct {
	Type  string `json:"type"`
	Value string `json:"value"`
	// Bytes has a text that is not UTF-8.
	Bytes []byte `json:"bytes,omitempty"`
}

// MarshalJSON writes the name of the type and the text of the value.
func (v SakeValue) MarshalJSON() ([]byte, error) {
	out := sakeValueJSON{Type: v.Type.String(), Value: v.String()}
	if v.Type.IsText() && strings.ToValidUTF8(out.Value, "") != out.Value {
		out.Value, out.Bytes = "", v.Text
	}
	return json.Marshal(out)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (v *SakeValue) UnmarshalJSON(b []byte) error {
	var in sakeValueJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if in.Bytes != nil {
		in.Value = string(in.Bytes)
	}
	var err error
	*v, err = ParseSakeValue(SakeTypeByName(in.Type), in.Value)
	return err
}
