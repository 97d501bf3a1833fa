package release

// ArchiveName is the file with a program, such as plimsoll or kubectl-plimsoll, for a platform.
func ArchiveName(program, version string, platform Platform) string {
	ending := ".tar.gz"
	if platform.OS == windows {
		ending = ".zip"
	}
	return program + "_" + version + "_" + platform.OS + "_" + platform.Architecture + ending
}

// ImageName is the file with the container image, an OCI layout.
func ImageName(version string) string { return "plimsoll_" + version + "_image.tar" }

// BillName is the file with the software bill of materials.
func BillName(version string) string { return "plimsoll_" + version + ".spdx.json" }
