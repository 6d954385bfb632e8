package ssq

// Config is section ssq of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. The usual port is 26999.
	Listen string `key:"listen" default:":26999" listen:"udp 26999"`
	// Password with which a tool may see private columns, such as the address that
	// a server reports from. It travels in the clear. 8 to 128 ASCII characters
	// without blanks, quotes and backslashes. Empty: they are never shown.
	Password string `key:"password" as:"password" live:"true" secret:"true"`
	// Bytes that an address which has proved itself may be sent per second,
	// {range}. Four seconds' worth may be sent at once. Searching the list counts
	// as well: one byte for each server and more for comparisons.
	BytesPerAddr int `key:"bytes_per_addr" default:"64KiB" range:"4KiB to 1GiB" live:"true"`
	// Bytes that all addresses of a /24 together may be sent per second, {range}.
	BytesPerNet int `key:"bytes_per_net" default:"256KiB" range:"4KiB to 1GiB" live:"true"`
}
