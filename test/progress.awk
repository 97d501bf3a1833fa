# Reads `go test -v -p 1` and shows one line for each test as it ends; the whole output of a package only if it failed.
/^=== / { next }
/^--- (PASS|FAIL|SKIP)/ { print; fflush() }
/^(ok|\?) / { print; fflush(); kept = ""; next }
/^FAIL\t/ { printf "%s", kept; kept = ""; print; fflush(); next }
{ kept = kept $0 "\n" }
END { printf "%s", kept }
