"""Root file systems of hosts: unpacked images below, what the host has written above.

layout      images in OCI layouts on disk
unpacking   a process that unpacks the layers of an image into a folder, which it cannot leave
engines     images of a container engine, written into layouts
cache       unpacked images of this user, by digest
roots       the session's side: the file systems of a lab's hosts, by overlayfs
"""
