package sake

// result is the result of a request, as replies name it. Its texts are those of the clients.
type result uint8

const (
	success result = iota
	secretKeyInvalid
	serviceDisabled
	databaseUnavailable
	loginTicketInvalid
	loginTicketExpired
	tableNotFound
	recordNotFound
	fieldNotFound
	fieldTypeInvalid
	noPermission
	recordLimitReached
	alreadyRated
	notRateable
	notOwned
	filterInvalid
	sortInvalid
	targetFilterInvalid
	certificateInvalid // known to the client library of 2012 alone
	unknownError
)

// resultNames are the results on the wire, by number.
var resultNames = [...]string{
	"Success", "SecretKeyInvalid", "ServiceDisabled", "DatabaseUnavailable", "LoginTicketInvalid", "LoginTicketExpired", "TableNotFound",
	"RecordNotFound", "FieldNotFound", "FieldTypeInvalid", "NoPermission", "RecordLimitReached", "AlreadyRated", "NotRateable", "NotOwned",
	"FilterInvalid", "SortInvalid", "TargetFilterInvalid", "CertificateInvalid", "UnknownError",
}

// String returns the text on the wire.
func (r result) String() string { return resultNames[r] }

// Error makes a result the error of the method that it ends.
func (r result) Error() string { return r.String() }
