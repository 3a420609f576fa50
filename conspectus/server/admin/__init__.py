"""What an administrator's token permits: documents are added and removed, and builds run in processes of their own.

    changes.py        the documents that wait to be added, and the names of those that wait to be removed
    jobs.py           the jobs of an index: estimates and builds, their state on disk, their processes
    build_process.py  the process of one job
    following.py      the folder of documents that an index follows
    admin_routes.py   /v1/indexes/NAME/changes, uploads, removals, following, jobs

Nothing of it exists in a server without such a token. Its files are in INDEX/admin, which only their owner can read:

    admin/lock           held by the server that administers the index
    admin/follows.txt    who had the folder followed; there while it is
    admin/folder.json    the names of its files at the last update
    admin/removals.json  names of documents that wait to be removed
    admin/uploads/       files that wait to be added, by their names
    admin/jobs/ID/       a job: job.json, the files that it adds (files/), and what its process printed (output.txt)
"""
