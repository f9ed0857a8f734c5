"""The operations of the servers of this API family, for catalogue.py. The session ``format`` writes this file.

An operation has a line, which those that begin with a space, ``|`` or ``,`` continue: its name, its servers (z: ZSvirt,
s: ZStack), its kind (q: query, r: read in place, w: change in place, a: change with a job), method, paths, ``@`` with
the member of the body if it is not the usual one, and the parameters that are not in the path: ``!`` if required,
``:TYPE`` if it is no string, and ``=`` with the choices.
"""

from __future__ import annotations

ROWS = """\
AckAlarmData z a POST zwatch/alarm-histories/acknowledgments alarmUuid! alertDataUuid! dataType! resourceUuid
 ackPeriodSec!:int
AckAlertData z a POST zwatch/alert-histories/acknowledgments alertDataUuid! dataType! resourceUuid ackPeriodSec!:int
AckEventData z a POST zwatch/event-histories/acknowledgments eventSubscriptionUuid! alertDataUuid! dataType!
 resourceUuid ackPeriodSec!:int
AddAccessControlListEntry zs a POST access-control-lists/{aclUuid}/ipentries entries! description tagUuids:[]
AddAccessControlListRedirectRule zs a POST access-control-lists/{aclUuid}/redirectRules name description domain url
 tagUuids:[]
AddAccessControlListToLoadBalancer zs a POST load-balancers/listeners/{listenerUuid}/access-control-lists aclUuids!:[]
 aclType!=white|black|redirect serverGroupUuids:[]
AddAccessControlRule z a POST login-control/access-control/rules name! description rule! controlStrategy! tagUuids:[]
AddAccountToGroup z a POST account-groups/{groupUuid}/accounts accountUuids!:[]
AddActionToAlarm z a POST zwatch/alarms/{alarmUuid}/actions actionUuid! actionType!
AddActionToEventSubscription z a POST zwatch/events/subscriptions/{subscriptionUuid}/actions actionUuid! actionType!
AddBackendServerToServerGroup zs a POST load-balancers/servergroups/{serverGroupUuid}/backendservers vmNics:[dict]
 servers:[dict]
AddBackupStoragesToReplicationGroup z a POST image-replication-groups/{replicationGroupUuid} backupStorageUuids!:[]
 tagUuids:[]
AddBlockPrimaryStorage z a POST primary-storage/block @param vendorName! metadata! url! name! description zoneUuid!
 tagUuids:[]
AddCephBackupStorage zs a POST backup-storage/ceph monUrls!:[] poolName url! name! description importImages:bool
 tagUuids:[]
AddCephPrimaryStorage zs a POST primary-storage/ceph monUrls!:[] rootVolumePoolName dataVolumePoolName
 imageCachePoolName url! name! description zoneUuid! tagUuids:[]
AddCephPrimaryStoragePool zs a POST primary-storage/ceph/{primaryStorageUuid}/pools poolName! aliasName description
 type!=Root|Data tagUuids:[]
AddCertificateToLoadBalancerListener zs a POST load-balancers/listeners/{listenerUuid}/certificate certificateUuid!
AddDisasterImageStoreBackupStorage z a POST backup-storage/image-store/disaster attachPoint endPoint hostname! username!
 password sshPort:int url! name! description importImages:bool tagUuids:[]
AddDnsToL3Network zs a POST l3-networks/{l3NetworkUuid}/dns dns!
AddDnsToVpcRouter z a POST vpc/virtual-routers/{uuid}/dns dns! tagUuids:[]
AddEmailAddressToSNSEmailEndpoint z a POST sns/application-endpoints/emails/email-addresses emailAddress! endpointUuid!
 tagUuids:[]
AddEventRuleTemplate z a POST zwatch/monitortemplates/evenrules name! monitorTemplateUuid! namespace! eventName!
 emergencyLevel=Emergent|Important|Normal labels:[dict] tagUuids:[]
AddExternalBackupStorage zs a POST backup-storage/addon identity! url! name! description importImages:bool tagUuids:[]
AddExternalPrimaryStorage zs a POST primary-storage/addon identity! defaultOutputProtocol!=Vhost|iSCSI|NVMEoF|CBD|file
 config url! name! description zoneUuid! tagUuids:[]
AddHostRouteToL3Network zs a POST l3-networks/{l3NetworkUuid}/hostroute prefix! nexthop!
AddHostToHostSchedulingRuleGroup z a POST hostSchedulingRuleGroup/{hostGroupUuid}/host/{hostUuid} @
AddImage zs a POST images name! description url! mediaType=RootVolumeTemplate|ISO|DataVolumeTemplate guestOsType
 architecture=x86_64|aarch64|mips64el|loongarch64 format platform=Linux|Windows|Other|Paravirtualization|WindowsVirtio
 backupStorageUuids!:[] virtio:bool system:bool type tagUuids:[]
AddImageStoreBackupStorage z a POST backup-storage/image-store hostname! username! password sshPort:int url! name!
 description importImages:bool tagUuids:[]
AddInstanceToMonitorGroup z a POST zwatch/monitorgroups/{groupUuid}/actions instanceUuid! tagUuids:[]
AddIpRange zs a POST l3-networks/{l3NetworkUuid}/ip-ranges name! description startIp! endIp! netmask! gateway
 ipRangeType=Normal|AddressPool tagUuids:[]
AddIpRangeByNetworkCidr zs a POST l3-networks/{l3NetworkUuid}/ip-ranges/by-cidr name! description networkCidr! gateway
 ipRangeType=Normal|AddressPool tagUuids:[]
AddIpv6Range zs a POST l3-networks/{l3NetworkUuid}/ipv6-ranges name! description startIp! endIp! gateway! prefixLen!:int
 addressMode! ipRangeType=Normal|AddressPool tagUuids:[]
AddIpv6RangeByNetworkCidr zs a POST l3-networks/{l3NetworkUuid}/ipv6-ranges/by-cidr name! description networkCidr!
 addressMode! ipRangeType=Normal|AddressPool tagUuids:[]
AddIscsiServer z a POST storage-devices/iscsi/servers name ip! port:int chapUserName chapUserPassword tagUuids:[]
AddKVMHost zs a POST hosts/kvm username! password! sshPort:int name! description managementIp! clusterUuid! tagUuids:[]
AddKVMHostFromConfigFile z a POST hosts/kvm/from-file hostInfo! tagUuids:[]
AddLabelToAlarm z a POST zwatch/alarms/{alarmUuid}/labels key! value! operator!=Regex|Equal tagUuids:[]
AddLabelToEventSubscription z a POST zwatch/events/subscriptions/{subscriptionUuid}/labels key! value! operator!=Regex
|Equal tagUuids:[]
AddLdapServer zs a POST ldap/servers name! description url! base! username! password! encryption! serverType
 usernameProperty filter syncCreatedAccountStrategy syncDeletedAccountStrategy
AddLocalPrimaryStorage zs a POST primary-storage/local-storage url! name! description zoneUuid! tagUuids:[]
AddLogConfiguration z a POST log/configurations name! description type! configuration! tagUuids:[]
AddMdevDeviceSpecToVmInstance z a POST mdev-device-specs/{mdevSpecUuid}/vm-instances/{vmInstanceUuid}
 mdevDeviceNumber:int
AddMetricRuleTemplate z a POST zwatch/monitortemplates/{monitorTemplateUuid}/metricrules name!
 comparisonOperator!=GreaterThanOrEqualTo|GreaterThan|LessThan|LessThanOrEqualTo period:int namespace! metricName!
 threshold!:float repeatInterval:int labels:[dict] repeatCount:int enableRecovery:bool emergencyLevel=Emergent|Important
|Normal tagUuids:[]
AddMonToCephBackupStorage zs a POST backup-storage/ceph/{uuid}/mons monUrls!:[]
AddMonToCephPrimaryStorage zs a POST primary-storage/ceph/{uuid}/mons monUrls!:[]
AddNfsPrimaryStorage zs a POST primary-storage/nfs url! name! description zoneUuid! tagUuids:[]
AddNvmeServer z a POST storage-devices/nvme/servers name ip! port:int transport!=tcp|rdma tagUuids:[]
AddPciDeviceSpecToVmInstance z a POST pci-device-specs/{pciSpecUuid}/vm-instances/{vmInstanceUuid} pciDeviceNumber:int
AddPolicyStatementsToRole s a POST identities/roles/{uuid}/policy-statements statements!:[dict]
AddPreconfigurationTemplate z a POST baremetal/preconfigurations name! description distribution! type! content!
 tagUuids:[]
AddRemoteCidrsToIPsecConnection z a POST ipsec/{uuid}/remote-cidrs peerCidrs!:[] tagUuids:[]
AddReservedIpRange zs a POST l3-networks/{l3NetworkUuid}/reserved-ip-ranges startIp! endIp! tagUuids:[]
AddResourceStackVmPortMonitor z a POST cloudformation/stack/monitor/addvm stackUuid vmInstanceUuid! port!:int
AddResourcesToDirectory zs a POST add/resources/directory resourceUuids!:[] directoryUuid!
AddSNSDingTalkAtPerson z a POST sns/application-endpoints/ding-talk/at-persons phoneNumber! endpointUuid! remark
 tagUuids:[]
AddSNSFeiShuAtPerson z a POST sns/application-endpoints/feishu/at-persons userId! endpointUuid! remark tagUuids:[]
AddSNSSmsReceiver z a POST sns/sms-endpoints/receivers phoneNumber! endpointUuid! type!=AliyunSms description
 tagUuids:[]
AddSNSWeComAtPerson z a POST sns/application-endpoints/we-com/at-persons userId! endpointUuid! remark tagUuids:[]
AddSchedulerJobGroupToSchedulerTrigger z a POST
 scheduler/jobgroups/{schedulerJobGroupUuid}/scheduler/triggers/{schedulerTriggerUuid} triggerNow:bool
AddSchedulerJobToSchedulerTrigger z a POST scheduler/jobs/{schedulerJobUuid}/scheduler/triggers/{schedulerTriggerUuid}
 triggerNow:bool
AddSchedulerJobsToSchedulerJobGroup z a POST scheduler/jobgroups/{schedulerJobGroupUuid}/job schedulerJobUuids!:[]
 priorities:dict
AddSdnController s a POST sdn-controllers vendorType! name! description ip! userName! password! tagUuids:[]
AddSecurityGroupRule zs a POST security-groups/{securityGroupUuid}/rules rules!:[dict] remoteSecurityGroupUuids:[]
 priority:int
AddServerGroupToLoadBalancerListener zs a POST load-balancers/listeners/{listenerUuid}/servergroups serverGroupUuid!
AddSftpBackupStorage zs a POST backup-storage/sftp hostname! username! password! sshPort:int url! name! description
 importImages:bool tagUuids:[]
AddSharedBlockGroupPrimaryStorage z a POST primary-storage/sharedblockgroup diskUuids!:[] url! name! description
 zoneUuid! tagUuids:[]
AddSharedBlockToSharedBlockGroup z a POST primary-storage/sharedblockgroup/{uuid}/sharedblocks diskUuid!
AddSharedMountPointPrimaryStorage zs a POST primary-storage/smp url! name! description zoneUuid! tagUuids:[]
AddSimulatorBackupStorage zs a POST backup-storage/simulators url! name! description importImages:bool totalCapacity:int
 availableCapacity:int tagUuids:[]
AddSimulatorHost zs a POST hosts/simulators memoryCapacity!:int cpuCapacity!:int name! description managementIp!
 clusterUuid! tagUuids:[]
AddSimulatorPrimaryStorage zs a POST primary-storage/simulators url! name! description zoneUuid! totalCapacity:int
 availableCapacity:int availablePhysicalCapacity:int totalPhysicalCapacity:int tagUuids:[]
AddStackTemplate z a POST cloudformation/template name! description type=zstack url templateContent tagUuids:[]
AddStorageProtocol zs a POST primary-storage/protocols uuid! outputProtocol!
AddThirdpartyPlatform z a POST zwatch/third-party/platforms name! type! url! template! description tagUuids:[]
AddTpm z a POST tpms keyProviderUuid vmInstanceUuid! tagUuids:[]
AddUserToGroup s a POST accounts/groups/{groupUuid}/users userUuid!
AddVRouterNetworksToOspfArea z a POST routerArea/{routerAreaUuid}/router/{vRouterUuid}/addnetworks l3NetworkUuids!:[]
 tagUuids:[]
AddVRouterRouteEntry z a POST vrouter-route-tables/{routeTableUuid}/route-entries description type destination! target
 distance:int tagUuids:[]
AddVmNicToLoadBalancer zs a POST load-balancers/listeners/{listenerUuid}/vm-instances/nics vmNicUuids!:[]
AddVmNicToSecurityGroup zs a POST security-groups/{securityGroupUuid}/vm-instances/nics vmNicUuids!:[]
AddVmToAffinityGroup z a POST affinity-groups/{affinityGroupUuid}/vm-instances/{uuid}
AddVmToVmSchedulingRuleGroup z a POST vmSchedulingRuleGroup/{vmGroupUuid}/vmInstance/{vmUuid} @
AddXDragonHost z a POST hosts/xdragon username! password! cpuNum:int cpuSockets:int totalPhysicalMemory:int sshPort:int
 name! description managementIp! clusterUuid! tagUuids:[]
AllocateHostResource z a POST hosts/{uuid}/allocate-resource strategy!=continuous scene!=normal|performance vcpu!:int
 memSize:int
ApplyDRSAdvice z a PUT clusters/drs/advice/{adviceUuid}/actions
ApplyMonitorTemplateToMonitorGroup z a POST zwatch/monitortemplates/{templateUuid}/monitorgroups/{groupUuid}
ApplyTemplateConfig z a PUT template-configurations/{templateUuid}/actions
AttachAutoScalingTemplateToGroup z a POST autoscaling/template/{uuid}/groups/{groupUuid}
AttachBackupStorageToZone zs a POST zones/{zoneUuid}/backup-storage/{backupStorageUuid}
AttachBaremetalPxeServerToCluster z a POST clusters/{clusterUuid}/pxeservers/{pxeServerUuid}
AttachDataVolumeToHost zs a POST volumes/{volumeUuid}/hosts/{hostUuid} mountPath!
AttachDataVolumeToVm zs a POST volumes/{volumeUuid}/vm-instances/{vmInstanceUuid}
AttachEip zs a POST eips/{eipUuid}/vm-instances/nics/{vmNicUuid} usedIpUuid
AttachGuestToolsIsoToVm z a PUT vm-instances/{uuid}/actions
AttachIscsiServerToCluster z a POST clusters/{clusterUuid}/storage-devices/iscsi/servers/{uuid}
AttachIsoToVmInstance zs a POST vm-instances/{vmInstanceUuid}/iso/{isoUuid} @null
AttachL2NetworkToCluster zs a POST l2-networks/{l2NetworkUuid}/clusters/{clusterUuid} @null l2ProviderType hostParams
AttachL2NetworkToHost z a POST l2-networks/{l2NetworkUuid}/hosts/{hostUuid} l2ProviderType hostParam
AttachL3NetworkToVm zs a POST vm-instances/{vmInstanceUuid}/l3-networks/{l3NetworkUuid} driverType customMac vmNicParams
 staticIp
AttachL3NetworkToVmNic zs a POST nics/{vmNicUuid}/l3-networks/{l3NetworkUuid} staticIp
AttachL3NetworksToIPsecConnection z a POST ipsec/{uuid}/l3networks l3NetworkUuids!:[] tagUuids:[]
AttachMdevDeviceToVm z a POST mdev-devices/{mdevDeviceUuid}/vm-instances/{vmInstanceUuid}
AttachMonitorTriggerActionToTrigger z a POST monitoring/triggers/{triggerUuid}/trigger-actions/{actionUuid}
AttachNetworkServiceToL3Network zs a POST l3-networks/{l3NetworkUuid}/network-services networkServices!:dict
AttachNicToBonding z a PUT hosts/bondings/{uuid}/attach slaveUuids!:[] type
AttachNvmeServerToCluster z a POST clusters/{clusterUuid}/storage-devices/nvme/servers/{uuid}
AttachPciDeviceToVm z a POST pci-device/pci-devices/{pciDeviceUuid}/attach vmInstanceUuid!
AttachPoliciesToUser s a POST accounts/users/{userUuid}/policy-collection policyUuids!:[]
AttachPolicyToRole s a POST identities/policies/{policyUuid}/roles/{roleUuid}
AttachPolicyToUser s a POST accounts/users/{userUuid}/policies policyUuid!
AttachPolicyToUserGroup s a POST accounts/groups/{groupUuid}/policies policyUuid!
AttachPortForwardingRule zs a POST port-forwarding/{ruleUuid}/vm-instances/nics/{vmNicUuid}
AttachPriceTableToAccount z a POST billings/price-tables/{tableUuid}/accounts/{accountUuid}
AttachPrimaryStorageToCluster zs a POST clusters/{clusterUuid}/primary-storage/{primaryStorageUuid}
AttachRoleToAccount zs a POST identities/accounts/{accountUuid}/roles/{roleUuid}
AttachRoleToAccountGroup z a POST account-groups/{groupUuid}/roles roleUuids!:[]
AttachScsiLunToVmInstance z a POST vm-instances/{vmInstanceUuid}/scsi-lun/{uuid} disableMultiPathAttach:bool
AttachSecurityGroupToL3Network zs a POST security-groups/{securityGroupUuid}/l3-networks/{l3NetworkUuid}
AttachSshKeyPairToVmInstance zs a POST ssh-key-pair/{sshKeyPairUuid}/vm-instance/{vmInstanceUuid}
AttachTagToResources z a POST tags/{tagUuid}/resources resourceUuids!:[] tokens:dict
AttachUsbDeviceToVm z a POST usb-device/usb-devices/{usbDeviceUuid}/attach vmInstanceUuid! attachType=PassThrough
|Redirect
AttachVRouterRouteTableToVRouter z a POST vrouter-route-tables/{routeTableUuid}/attach virtualRouterVmUuid!
AttachVipToLoadBalancer s a POST load-balancers/{loadBalancerUuid}/vip/{vipUuid}
AttachVmNicToVm zs a POST vm-instances/{vmInstanceUuid}/nices/{vmNicUuid}
BackupNkp z a PUT key-providers/nkp/{uuid}/actions password
BackupStorageMigrateImage z a PUT backup-storage/images/{imageUuid}/actions srcBackupStorageUuid! dstBackupStorageUuid!
BatchCreateBaremetalChassis z a POST baremetal/chassis/from-file baremetalChassisInfo! longJobName longJobDescription
 tagUuids:[]
BatchCreateHostKernelInterface z a POST l3-networks/{l3NetworkUuid}/kernel-interfaces structs!:[dict] trafficTypes:[]
BatchDeleteVolumeSnapshot zs a PUT volume-snapshots/batch-delete uuids!:[]
BatchQuery zs r GET batch-queries script
BatchSyncVolumeSize zs w POST volumes/batch-sync-volumes @ clusterUuid!
BootstrapMiniHost z a POST mini-clusters/hosts local!:dict peer!:dict tagUuids:[]
CalculateAccountBillingSpending z r PUT billings/accounts/{accountUuid}/actions dateStart:int dateEnd:int resourceUuid
 simple:bool
CalculateAccountSpending z r PUT billings/accounts/{accountUuid}/actions hypervisorType=KVM|Simulator|ESX|xdragon
 dateStart:int dateEnd:int simple:bool
CalculateImageHash zs a PUT images/{uuid}/actions backupStorageUuid! algorithm
CalculateResourceSpending z r PUT billings/resources/actions resourceType resourceUuid dateStart dateEnd start:int
 limit:int
CancelLongJob zs a PUT longjobs/{uuid}/actions
ChangeAccessControlListRedirectRule zs a PUT access-control-lists/redirectRules/{uuid}/actions name
ChangeAccessControlListServerGroup zs a PUT load-balancers/listener/acl/{aclUuid}/servergroup/actions
 serverGroupUuids!:[] listenerUuid!
ChangeAccessKeyState z a PUT accesskeys/{uuid}/actions stateEvent!
ChangeAccountPriceTableBinding z a PUT billings/price-tables/{tableUuid}/accounts/{accountUuid}
ChangeAccountType z a PUT accounts/{uuid}/actions type!
ChangeActiveAlarmState z a POST zwatch/activealarms/actions namespace! stateEvent!=enable|disable
ChangeAffinityGroupState z a PUT affinity-groups/{uuid}/actions stateEvent!=enable|disable
ChangeAlarmState z a PUT zwatch/alarms/{uuid}/actions stateEvent!=enable|disable
ChangeAutoScalingGroupState z a PUT autoscaling/groups/{uuid}/actions stateEvent!=enable|disable
ChangeBackupStorageState zs a PUT backup-storage/{uuid}/actions stateEvent!=enable|disable
ChangeBaremetalChassisState z a PUT baremetal/chassis/{uuid}/actions stateEvent!=enable|disable
ChangeClusterState zs a PUT clusters/{uuid}/actions stateEvent!=enable|disable
ChangeDiskOfferingState zs a PUT disk-offerings/{uuid}/actions stateEvent!=enable|disable
ChangeEipState zs a PUT eips/{uuid}/actions stateEvent!=enable|disable
ChangeEventSubscriptionState z a PUT zwatch/change/eventSubscription/{uuid}/state state!=Enabled|Disabled
ChangeHostNetworkInterfaceLldpMode zs a PUT hostNetworkInterface/lldp/actions interfaceUuids!:[] mode=rx_only|tx_only
|rx_and_tx|disable
ChangeHostPassword z a PUT hosts/kvm/{hostUuid}/actions password!
ChangeHostState zs a PUT hosts/{uuid}/actions stateEvent!=enable|disable|maintain
ChangeIPSecConnectionState z a PUT ipsec/{uuid}/actions stateEvent!=enable|disable
ChangeIPsecConnection z a PUT ipsec/config/{uuid} peerAddress! authMode=psk|certs authKey! idType=ip|name|fqdn localId
 remoteId ikeVersion=ike|ikev1|ikev2 ikeAuthAlgorithm=md5|sha1|sha256|sha384|sha512 ikeEncryptionAlgorithm=3des|aes-128
|aes-192|aes-256 ikeLifeTime:int policyAuthAlgorithm=md5|sha1|sha256|sha384|sha512 policyEncryptionAlgorithm=3des
|aes-128|aes-192|aes-256 pfs=none|dh-group2|dh-group5|dh-group14|dh-group15|dh-group16|dh-group17|dh-group18|dh-group19
|dh-group20|dh-group21|dh-group22|dh-group23|dh-group24|dh-group25|dh-group26 policyMode=tunnel|transport
 transformProtocol=esp|ah|ah-esp lifeTime:int
ChangeImageState zs a PUT images/{uuid}/actions stateEvent!=enable|disable
ChangeInstanceOffering zs a PUT vm-instances/{vmInstanceUuid}/actions instanceOfferingUuid!
ChangeInstanceOfferingState zs a PUT instance-offerings/{uuid}/actions stateEvent!=enable|disable
ChangeL2NetworkVlanId s a PUT l2-networks/{uuid}/actions vlan:int type
ChangeL3NetworkDhcpIpAddress zs a PUT l3-networks/{l3NetworkUuid}/dhcp-ip dhcpServerIp dhcpv6ServerIp
ChangeL3NetworkState zs a PUT l3-networks/{uuid}/actions stateEvent!=enable|disable
ChangeLoadBalancerBackendServer zs a PUT load-balancers/servergroups/{serverGroupUuid}/backendserver/actions
 vmNics:[dict] servers:[dict]
ChangeLoadBalancerListener zs a PUT load-balancers/listeners/{uuid}/actions connectionIdleTimeout:int maxConnection:int
 balancerAlgorithm healthCheckTarget healthyThreshold:int unhealthyThreshold:int healthCheckInterval:int
 healthCheckProtocol healthCheckMethod=GET|HEAD healthCheckURI healthCheckHttpCode aclStatus=enable|disable
 securityPolicyType nbprocess:int httpMode=http-keep-alive|http-server-close|http-tunnel|httpclose|forceclose
 sessionPersistence=disable|iphash|insert|rewrite sessionIdleTimeout:int cookieName httpRedirectHttps=disable|enable
 redirectPort:int statusCode:int=301|302|303|307|308
ChangeMediaState z a PUT media/{uuid}/actions stateEvent!=enable|disable
ChangeMonitorTriggerActionState z a PUT monitoring/trigger-actions/{uuid}/actions stateEvent!=enable|disable
ChangeMonitorTriggerState z a PUT monitoring/triggers/{uuid}/actions stateEvent!=enable|disable
ChangePortForwardingRuleState zs a PUT port-forwarding/{uuid}/actions stateEvent!=enable|disable
ChangePreconfigurationTemplateState z a PUT baremetal/preconfigurations/{uuid}/actions stateEvent!=enable|disable
ChangePrimaryStorageState zs a PUT primary-storage/{uuid}/actions stateEvent!=enable|disable|maintain|deleting
ChangeResourceOwner zs a POST account/{accountUuid}/resources resourceUuid!
ChangeRoleState s a PUT identities/roles/{uuid}/actions stateEvent!=enable|disable
ChangeSNSApplicationEndpointState z a PUT sns/application-endpoints/{uuid}/actions stateEvent!=enable|disable
ChangeSNSApplicationPlatformState z a PUT sns/application-platforms/{uuid}/actions stateEvent!=enable|disable
ChangeSNSTopicState z a PUT zwatch/topics/{uuid}/actions stateEvent!=enable|disable
ChangeSchedulerState z a PUT schedulers/{uuid} stateEvent!=enable|disable
ChangeSecurityGroupRule zs a PUT security-groups/rules/{uuid}/actions description remoteSecurityGroupUuid action=DROP
|ACCEPT state=Enabled|Disabled priority:int protocol=ALL|TCP|UDP|ICMP srcIpRange dstIpRange dstPortRange
ChangeSecurityGroupRuleState zs a PUT security-groups/{securityGroupUuid}/rules/state/actions ruleUuids!:[]
 state!=Enabled|Disabled
ChangeSecurityGroupState zs a PUT security-groups/{uuid}/actions stateEvent!=enable|disable
ChangeVfNicHaState z a PUT vm-instances/nics/{vfNicUuid}/actions haState!=Enabled|Disabled
ChangeVipState zs a PUT vips/{uuid}/actions stateEvent!=enable|disable
ChangeVmImage z a PUT vm-instances/{vmInstanceUuid}/actions imageUuid! tagUuids:[]
ChangeVmNicNetwork zs a POST vm-instances/nics/{vmNicUuid}/l3-networks/{destL3NetworkUuid} vmNicParams staticIp
ChangeVmNicSecurityPolicy zs a PUT security-groups/nics/{vmNicUuid}/security-policy/actions ingressPolicy=DENY|ALLOW
 egressPolicy=DENY|ALLOW
ChangeVmNicState zs a PUT vm-instances/nics/{vmNicUuid}/actions state!=enable|disable
ChangeVmNicType z a PUT vm-instances/nics/{vmNicUuid}/actions vmNicType!=VNIC
ChangeVmPassword z a PUT vm-instances/{uuid}/actions password! account!
ChangeVmSchedulingRuleState z a PUT vmSchedulingRule/{uuid}/actions state!=enable|disable
ChangeVolumeState zs a PUT volumes/{uuid}/actions stateEvent!=enable|disable
ChangeVpcHaGroupMonitorIps z a PUT vpc/hagroups/{uuid}/monitorIps monitorIps:[]
ChangeZoneState zs a PUT zones/{uuid}/actions stateEvent!=enable|disable
CheckApiPermission s r PUT accounts/permissions/actions userUuid apiNames!:[]
CheckBaremetalChassisConfigFile z r POST baremetal/chassis/from-file/check baremetalChassisInfo!
CheckCephHealthStatus z r POST zops/check-ceph-health
CheckCephPlugin z r PUT ceph-plugin/check managementNode:bool hostUuidList:[] ipList:[] externalHosts:[dict]
CheckElaborationContent zs r POST errorcode/elaborations/check elaborateFile elaborateContent
CheckIpAvailability zs r GET l3-networks/{l3NetworkUuid}/ip/{ip}/availability arpCheck:bool ipRangeCheck:bool
CheckKVMHostConfigFile z r POST hosts/kvm/from-file/check hostInfo!
CheckMemorySnapshotGroupConflict z r GET memory-snapshots/groups/{uuid}/conflict-detection
CheckNetworkReachable z r GET zops/check/network sourceHostnames:[] targetHostnames!:[]
CheckResourcePermission s r GET accounts/resource/api-permissions resourceType!
CheckScsiLunClusterStatus z r PUT storage-devices/scsi-lun/{uuid}/cluster/{clusterUuid}
CheckStackTemplateParameters z r POST cloudformation/stack/check type=zstack templateContent uuid
CheckTelemetryUpdate z a PUT telemetry/updates/check
CheckVipPortAvailability zs r GET vips/{vipUuid}/check-port-availability port!:int protocolType!=TCP|UDP
CheckVolumeSnapshotGroupAvailability zs r GET volume-snapshots/groups/availabilities uuids!:[]
CleanInvalidLdapBinding s a PUT ldap/bindings/actions
CleanLongJob zs a PUT longjobs/{uuid}/actions
CleanQueue zs a PUT clean/queue signatureName! taskIndex:int isCleanUp:bool isRunningTask:bool managementiUuid
CleanSoftwarePackage z a DELETE software-package/{uuid}
CleanUpBaremetalChassisBonding z a PUT baremetal/chassis/{chassisUuid}/actions
CleanUpImageCacheOnPrimaryStorage zs a PUT primary-storage/{uuid}/actions force:bool
CleanUpStorageTrashOnPrimaryStorage zs a PUT primary-storage/{uuid}/storagetrash/actions force:bool
CleanUpTrashOnBackupStorage zs a PUT backup-storage/{uuid}/trash/actions trashId:int
CleanUpTrashOnPrimaryStorage zs a PUT primary-storage/{uuid}/trash/actions trashId:int
CleanUpgradeSoftwarePackage z a DELETE software-package/upgrade/packages/{uuid}
CleanupBillingUsage z a DELETE billings/usage
CleanupVmInstanceMetadata z a PUT vm-instances/metadata/cleanup vmUuids!:[]
CloneMonitorTemplate z a POST zwatch/monitortemplates/{uuid}/actions name! description tagUuids:[]
CloneVmInstance z a PUT vm-instances/{vmInstanceUuid}/actions strategy=InstantStart|JustCreate|CreateStopped vmNicParams
 names!:[] primaryStorageUuidForRootVolume primaryStorageUuidForDataVolume rootVolumeSystemTags:[]
 dataVolumeSystemTags:[] clusterUuid hostUuid diskAOs:[dict] description vmCustomSpecification:dict resetTpm:bool
ConvertTemplatedVmInstanceToVmInstance z a POST vm-instances/{templatedVmInstanceUuid}/convert-to-vmInstance name!
 resetTpm:bool
ConvertVmInstanceToTemplatedVmInstance z a POST vm-instances/{vmInstanceUuid}/convert-to-templatedVmInstance
CreateAccessControlList zs a POST access-control-lists name! description ipVersion:int=4|6 tagUuids:[]
CreateAccessKey z a POST accesskeys accountUuid! userUuid description AccessKeyID AccessKeySecret tagUuids:[]
CreateAccount zs a POST accounts name! password! type=SystemAdmin|Normal state description tagUuids:[]
CreateAccountGroup z a POST account-groups name! description parentUuid tagUuids:[]
CreateAffinityGroup z a POST affinity-groups name! description policy=antiSoft|antiHard type=host zoneUuid subType
 tagUuids:[]
CreateAlarm z a POST zwatch/alarms name! description comparisonOperator!=GreaterThanOrEqualTo|GreaterThan|LessThan
|LessThanOrEqualTo period:int namespace! metricName! threshold!:float repeatInterval:int repeatCount:int type
 enableRecovery:bool emergencyLevel=Emergent|Important|Normal tagUuids:[]
CreateAliyunSmsSNSTextTemplate z a POST zwatch/alarms/sns/text-templates/aliyun-sms sign! alarmTemplateCode!
 eventTemplateCode! eventTemplate name! description applicationPlatformType! subject recoverySubject template!
 recoveryTemplate type=alarm|event|combined tagUuids:[]
CreateAutoScalingGroup z a POST autoscaling/groups name! description scalingResourceType! minResourceSize!:int
 maxResourceSize!:int defaultCooldown!:int removalPolicy! defaultEnable:bool tagUuids:[]
CreateAutoScalingGroupAddingNewInstanceRule z a POST autoscaling/rules/adding-new-instance adjustmentType!
 adjustmentValue!:int name! description autoScalingGroupUuid! cooldown:int tagUuids:[]
CreateAutoScalingGroupRemovalInstanceRule z a POST autoscaling/rules/removal-instance adjustmentType!
 adjustmentValue!:int removalPolicy! name! description autoScalingGroupUuid! cooldown:int tagUuids:[]
CreateAutoScalingRuleAlarmTrigger z a POST zwatch/alarms/{alarmUuid}/autoscaling/rules/{ruleUuid} name! description
 tagUuids:[]
CreateAutoScalingRuleSchedulerJobTrigger z a POST scheduler/jobs/{schedulerJobUuid}/autoscaling/rules/{ruleUuid} name!
 description tagUuids:[]
CreateAutoScalingVmTemplate z a POST autoscaling/vmtemplate vmInstanceName! vmInstanceDescription
 vmInstanceOfferingUuid! imageUuid! l3NetworkUuids!:[] vmInstanceType=UserVm|ApplianceVm rootDiskOfferingUuid
 dataDiskOfferingUuids:[] vmInstanceZoneUuid vmInstanceClusterUuid hostUuid primaryStorageUuidForRootVolume
 defaultL3NetworkUuid! strategy=InstantStart|CreateStopped name! description tagUuids:[]
CreateBaremetalBonding z a POST baremetal/network/bondings chassisUuid! name! mode!:int slaves! opts tagUuids:[]
CreateBaremetalChassis z a POST baremetal/chassis name! description clusterUuid! ipmiAddress! ipmiPort:int ipmiUsername!
 ipmiPassword! tagUuids:[]
CreateBaremetalInstance z a POST baremetal/instances name! description chassisUuid! imageUuid! templateUuid username
 password! nicCfgs:dict bondingCfgs:dict customConfigurations:dict strategy=InstantStart|JustCreate platform tagUuids:[]
CreateBaremetalPxeServer z a POST baremetal/pxeservers zoneUuid! name! description hostname! sshUsername! sshPassword!
 sshPort:int storagePath! dhcpInterface! dhcpRangeBegin dhcpRangeEnd dhcpRangeNetmask tagUuids:[]
CreateBlockVolume z a POST block-volumes name! description size!:int primaryStorageUuid! accessPathId:int accessPathIqn
 burstTotalBw:int burstTotalIops:int maxTotalBw:int maxTotalIops:int protocol tagUuids:[]
CreateBonding z a POST hosts/bondings hostUuids!:[] bondingName! slaveUuids:[] slaveNames:[] type! mode! xmitHashPolicy
 description tagUuids:[]
CreateCasClient z a POST create/cas/client name! description casServerLoginUrl! casServerUrlPrefix! serverName!
 usernameProperty urlTemplate tagUuids:[]
CreateCbtTask z a POST cbt-task/create name! description vmInstanceUuid! tagUuids:[]
CreateCertificate zs a POST certificates name! certificate! description tagUuids:[]
CreateCluster zs a POST clusters zoneUuid! name! description hypervisorType!=KVM|Simulator|baremetal|baremetal2|xdragon
 type=zstack|baremetal|baremetal2 architecture=x86_64|aarch64|mips64el|loongarch64 tagUuids:[]
CreateClusterDRS z a POST clusters/{clusterUuid}/drs name! description automationLevel! thresholds!:[dict]
 thresholdDuration!:int defaultEnable:bool tagUuids:[]
CreateDataVolume zs a POST volumes/data name! description diskOfferingUuid diskSize:int primaryStorageUuid tagUuids:[]
CreateDataVolumeFromVolumeBackup z a POST volumes/data-volume/from/volume-template/{backupUuid} name! vmInstanceUuid
 backupStorageUuid primaryStorageUuid description tagUuids:[]
CreateDataVolumeFromVolumeSnapshot zs a POST volumes/data/from/volume-snapshots/{volumeSnapshotUuid} name! description
 primaryStorageUuid tagUuids:[]
CreateDataVolumeFromVolumeTemplate zs a POST volumes/data/from/data-volume-templates/{imageUuid} name! description
 primaryStorageUuid! hostUuid tagUuids:[]
CreateDataVolumeTemplateFromVolume zs a POST images/data-volume-templates/from/volumes/{volumeUuid} name! description
 backupStorageUuids:[] tagUuids:[]
CreateDataVolumeTemplateFromVolumeBackup z a POST images/data-volume-templates/from/volume-template/{backupUuid}
 backupStorageUuid! name! description platform=Linux|Windows|Other|Paravirtualization|WindowsVirtio tagUuids:[]
CreateDataVolumeTemplateFromVolumeSnapshot zs a POST images/data-volume-templates/from/volume-snapshots/{snapshotUuid}
 name! description backupStorageUuids!:[] tagUuids:[]
CreateDatabaseBackup z a POST database-backups name! description backupStorageUuid! tagUuids:[]
CreateDirectory zs a POST create/directory name! parentUuid zoneUuid! type! tagUuids:[]
CreateDiskOffering zs a POST disk-offerings name! description diskSize!:int type=zstack sortKey:int allocationStrategy
 tagUuids:[]
CreateEip zs a POST eips name! description vipUuid! vmNicUuid usedIpUuid tagUuids:[]
CreateEmailMedia z a POST media/emails smtpServer! smtpPort!:int username password name! description tagUuids:[]
CreateEmailMonitorTriggerAction z a POST monitoring/trigger-actions/emails email! mediaUuid! name! description
 triggerUuids:[] tagUuids:[]
CreateHostKernelInterface z a POST l3-networks/kernel-interfaces name! description hostUuid! l3NetworkUuid! requiredIp
 netmask trafficTypes:[] tagUuids:[]
CreateHostSchedulingRuleGroup z a POST hostSchedulingRuleGroup name! description zoneUuid! tagUuids:[]
CreateIPsecConnection z a POST ipsec name! description vipUuid! peerAddress! authMode=psk|certs authKey! idType=ip|name
|fqdn localId remoteId l3NetworkUuid peerCidrs:[] ikeVersion=ike|ikev1|ikev2 ikeAuthAlgorithm=md5|sha1|sha256|sha384
|sha512 ikeEncryptionAlgorithm=3des|aes-128|aes-192|aes-256 ikeLifeTime:int policyAuthAlgorithm=md5|sha1|sha256|sha384
|sha512 policyEncryptionAlgorithm=3des|aes-128|aes-192|aes-256 pfs=none|dh-group0|dh-group2|dh-group5|dh-group14
|dh-group15|dh-group16|dh-group17|dh-group18|dh-group19|dh-group20|dh-group21|dh-group22|dh-group23|dh-group24
|dh-group25|dh-group26 policyMode=tunnel|transport transformProtocol=esp|ah|ah-esp lifeTime:int tagUuids:[]
CreateImageReplicationGroup z a POST image-replication-groups name! description tagUuids:[]
CreateInstanceOffering zs a POST instance-offerings name! description cpuNum!:int memorySize!:int reservedMemorySize:int
 allocatorStrategy sortKey:int type tagUuids:[]
CreateKms z a POST key-providers/kms endpoint! port!:int kmipVersion username password name! description tagUuids:[]
CreateL2HardwareVxlanNetwork s a POST l2-networks/hardware-vxlan vni:int poolUuid! name! description zoneUuid!
 physicalInterface! vSwitchType=LinuxBridge|OvsDpdk|MacVlan isolated:bool pvlan tagUuids:[]
CreateL2HardwareVxlanNetworkPool s a POST l2-networks/hardware-vxlan-pool sdnControllerUuid! name! description zoneUuid!
 physicalInterface! vSwitchType=LinuxBridge|OvsDpdk|MacVlan isolated:bool pvlan tagUuids:[]
CreateL2NoVlanNetwork zs a POST l2-networks/no-vlan name! description zoneUuid! physicalInterface! vSwitchType
 tagUuids:[]
CreateL2PortGroup z a POST l2-networks/port-group vSwitchUuid! vlanMode vlan!:int vlanRanges name! description zoneUuid!
 physicalInterface! vSwitchType tagUuids:[]
CreateL2TfNetwork s a POST l2-networks/tf ipPrefix ipPrefixLength:int name! description zoneUuid! physicalInterface!
 vSwitchType=LinuxBridge|OvsDpdk|MacVlan isolated:bool pvlan tagUuids:[]
CreateL2VirtualSwitch z a POST l2-networks/virtual-switch isDistributed:bool name! description zoneUuid!
 physicalInterface! vSwitchType tagUuids:[]
CreateL2VlanNetwork zs a POST l2-networks/vlan vlan!:int name! description zoneUuid! physicalInterface! vSwitchType
 tagUuids:[]
CreateL2VxlanNetwork zs a POST l2-networks/vxlan vni:int poolUuid! name! description zoneUuid! physicalInterface!
 vSwitchType tagUuids:[]
CreateL2VxlanNetworkPool zs a POST l2-networks/vxlan-pool name! description zoneUuid! physicalInterface! vSwitchType
 tagUuids:[]
CreateL3Network zs a POST l3-networks name! description l2NetworkUuid! category=Public|Private|System ipVersion:int=4|6
 enableIPAM:bool type system:bool dnsDomain tagUuids:[]
CreateLdapBinding zs a POST ldap/bindings ldapUid! accountUuid! ldapServerUuid
CreateLoadBalancer zs a POST load-balancers name! description vipUuid! type tagUuids:[]
CreateLoadBalancerListener zs a POST load-balancers/{loadBalancerUuid}/listeners name! description instancePort:int
 loadBalancerPort!:int protocol certificateUuid healthCheckProtocol healthCheckMethod=GET|HEAD healthCheckURI
 healthCheckHttpCode aclStatus=enable|disable aclUuids:[] aclType=white|black securityPolicyType tagUuids:[]
CreateLoadBalancerServerGroup zs a POST load-balancers/{loadBalancerUuid}/servergroups name! description tagUuids:[]
CreateMetricDataHttpReceiver z a POST zwatch/metrics/httpreceivers name! url! description defaultEnable:bool tagUuids:[]
CreateMetricTemplate z a POST zwatch/metrics/httpreceivers/templates receiverUuid! template! namespace! metricName!
 labelsJsonStr description tagUuids:[]
CreateMiniCluster z a POST mini-clusters zoneUuid! name! hostManagementIps!:[] username password! sshPort:int
 description hypervisorType!=KVM|Simulator tagUuids:[]
CreateMonitorGroup z a POST zwatch/monitorgroups name! description actions:[dict] tagUuids:[]
CreateMonitorTemplate z a POST zwatch/monitortemplates name! description tagUuids:[]
CreateMonitorTrigger z a POST monitoring/triggers name! expression! duration!:int recoveryExpression description
 targetResourceUuid! tagUuids:[]
CreateNkp z a POST key-providers/nkp kdf saltPolicy name! description tagUuids:[]
CreateOAuthClient z a POST create/oauth2/client name! description clientId! clientSecret authorizationUrl tokenUrl!
 userinfoUrl redirectUrl logoutUrl grantType! urlTemplate! usernameProperty tagUuids:[]
CreatePciDeviceOffering z a POST pci-device/pci-device-offerings name description type vendorId! deviceId! subvendorId
 subdeviceId ramSize tagUuids:[]
CreatePolicy s a POST accounts/policies name! description statements!:[dict] tagUuids:[]
CreatePortForwardingRule zs a POST port-forwarding vipUuid! vipPortStart!:int vipPortEnd:int privatePortStart:int
 privatePortEnd:int protocolType!=TCP|UDP vmNicUuid name! description allowedCidr tagUuids:[]
CreatePortGroup z a POST l3-networks/port-group vSwitchUuid! vlanMode vlan!:int vlanRanges name! description
 l2NetworkUuid! category=Public|Private|System ipVersion:int=4|6 enableIPAM:bool tagUuids:[]
CreatePriceTable z a POST billings/price-tables name! description prices!:[dict] tagUuids:[]
CreateResourceAttributeKey z a POST resource-attributes name! description resourceTypes:[] constraints:[dict]
 tagUuids:[]
CreateResourceAttributeValue z a POST resource-attributes/{keyUuid}/resources value! resourceUuids!:[]
CreateResourcePrice z a POST billings/prices resourceName!=cpu|memory|rootVolume|dataVolume|snapShot|gpu
|pubIpVmNicBandwidthOut|pubIpVmNicBandwidthIn|pubIpVipBandwidthOut|pubIpVipBandwidthIn resourceUnit timeUnit!
 price!:float accountUuid dateInLong:int tableUuid tagUuids:[]
CreateResourceStack z a POST cloudformation/stack name! description type=zstack rollback:bool templateContent
 templateUuid parameters tagUuids:[]
CreateRole zs a POST identities/roles name! description policies:[dict] baseOnRole statements:[dict] tagUuids:[]
CreateRootVolumeTemplateFromRootVolume zs a POST images/root-volume-templates/from/volumes/{rootVolumeUuid} name!
 description backupStorageUuids:[] platform=Linux|Windows|Other|Paravirtualization|WindowsVirtio guestOsType system:bool
 architecture virtio:bool tagUuids:[]
CreateRootVolumeTemplateFromVolumeBackup z a POST images/root-volume-templates/from/volume-template/{backupUuid}
 backupStorageUuid! name! description platform=Linux|Windows|Other|Paravirtualization|WindowsVirtio architecture=x86_64
|aarch64|mips64el|loongarch64 tagUuids:[]
CreateRootVolumeTemplateFromVolumeSnapshot zs a POST images/root-volume-templates/from/volume-snapshots/{snapshotUuid}
 name! description backupStorageUuids!:[] platform=Linux|Windows|Other|Paravirtualization|WindowsVirtio guestOsType
 architecture system:bool virtio:bool tagUuids:[]
CreateSNSDingTalkEndpoint z a POST sns/application-endpoints/ding-talk url! atAll:bool secret atPersonPhoneNumbers:[]
 atPersonList:dict name! description platformUuid tagUuids:[]
CreateSNSEmailEndpoint z a POST sns/application-endpoints/emails email emails:[] name! description platformUuid
 tagUuids:[]
CreateSNSEmailPlatform z a POST sns/application-platforms/email smtpServer! smtpPort!:int username password
 encryptType=SSL|STARTTLS|NONE name! description tagUuids:[]
CreateSNSFeiShuEndpoint z a POST sns/application-endpoints/feishu url! atAll:bool atPersonUserIds:[] secret
 atPersonList:dict name! description platformUuid tagUuids:[]
CreateSNSHttpEndpoint z a POST sns/application-endpoints/http url! username password name! description platformUuid
 tagUuids:[]
CreateSNSMicrosoftTeamsEndpoint z a POST sns/application-endpoints/microsoft-teams url! name! description platformUuid
 tagUuids:[]
CreateSNSSnmpEndpoint z a POST sns/application-endpoints/snmp name! description platformUuid tagUuids:[]
CreateSNSSnmpPlatform z a POST sns/application-platforms/snmp snmpAddress! snmpPort!:int name! description tagUuids:[]
CreateSNSTextTemplate z a POST zwatch/alarms/sns/text-templates name! description applicationPlatformType! subject
 recoverySubject template! recoveryTemplate type=alarm|event|combined tagUuids:[]
CreateSNSTopic z a POST sns/topics name! description locale=zh_CN|en_US tagUuids:[]
CreateSNSWeComEndpoint z a POST sns/application-endpoints/we-com url! atAll:bool atPersonUserIds:[] atPersonList:dict
 name! description platformUuid tagUuids:[]
CreateSSORedirectTemplate z a POST create/sso/redirect/template/ name! description! clientUuid! redirectTemplate!
 tagUuids:[]
CreateSchedulerJob z a POST scheduler/jobs name! description targetResourceUuid! type!=startVm|stopVm|rebootVm
|volumeSnapshot|volumeSnapshotGroup|volumeBackup|rootVolumeBackup|vmBackup|databaseBackup|localRaidSelfTest
|runAutoScalingGroup|cancelIAM2ProjectLoginExpired|takeIAM2ProjectLoginExpired parameters:dict tagUuids:[]
CreateSchedulerJobGroup z a POST scheduler/jobgroups name! description type!=startVm|stopVm|rebootVm|volumeSnapshot
|volumeSnapshotGroup|volumeBackup|rootVolumeBackup|vmBackup|databaseBackup|runAutoScalingGroup
|cancelIAM2ProjectLoginExpired|takeIAM2ProjectLoginExpired parameters:dict tagUuids:[]
CreateSchedulerTrigger z a POST scheduler/triggers name! description schedulerInterval:int repeatCount:int startTime:int
 stopTime:int schedulerType!=simple|cron cron tagUuids:[]
CreateSecurityGroup zs a POST security-groups name! description ipVersion:int=4|6 tagUuids:[]
CreateSnmpAgent z a POST snmp/agent version!=v2c|v3 readCommunity userName authAlgorithm=MD5|SHA|SHA224|SHA256|SHA384
|SHA512 authPassword privacyAlgorithm=DES|AES128|AES192|AES256|3DES privacyPassword port!:int tagUuids:[]
CreateSshKeyPair zs a POST ssh-key-pair name! description publicKey! tagUuids:[]
CreateSystemTag zs a POST system-tags resourceType! resourceUuid! tag!
CreateSystemTags zs a POST system-tags/{resourceUuid}/tags resourceType! tags!:[]
CreateTag z a POST tags name! value! description color type=simple|withToken tagUuids:[]
CreateTemplatedVmInstanceFromVmInstance z a POST vm-instances/{vmInstanceUuid}/create-templated-vmInstance name!
 clusterUuid hostUuid description
CreateUser s a POST accounts/users name! password! description tagUuids:[]
CreateUserGroup s a POST accounts/groups name! description tagUuids:[]
CreateUserTag s a POST user-tags resourceType! resourceUuid! tag!
CreateVRouterOspfArea z a POST routerArea areaId! areaAuth areaType password keyId:int tagUuids:[]
CreateVRouterRouteTable z a POST vrouter-route-tables name! description tagUuids:[]
CreateVip zs a POST vips name! description l3NetworkUuid! ipRangeUuid requiredIp allocatorStrategy tagUuids:[]
CreateVirtualRouterOffering zs a POST instance-offerings/virtual-routers zoneUuid! managementNetworkUuid! imageUuid!
 publicNetworkUuid name! description cpuNum!:int memorySize!:int reservedMemorySize:int isDefault:bool tagUuids:[]
CreateVmBackup z a POST volumes/{rootVolumeUuid}/vm-backups backupStorageUuid! name! description mode=full
 volumeReadBandwidth:int volumeWriteBandwidth:int networkReadBandwidth:int networkWriteBandwidth:int tagUuids:[]
CreateVmCdRom zs a POST vm-instances/cdroms name! vmInstanceUuid! isoUuid description tagUuids:[]
CreateVmCustomSpecification z a POST vm-custom-specifications name! description platform! hostname rootPassword
 generateSID:bool domainMode domainName domainUsername domainPassword organization tagUuids:[]
CreateVmFromVmBackup z a POST vm-instances/from/vm-backups/{groupUuid} name! backupStorageUuid instanceOfferingUuid
 l3NetworkUuids:[] vmNicParams type=UserVm|ApplianceVm zoneUuid clusterUuid hostUuid primaryStorageUuidForRootVolume
 primaryStorageUuidForDataVolume description rootVolumeSystemTags:[] dataVolumeSystemTags:[] diskAOs:[dict]
 strategy=InstantStart|JustCreate|CreateStopped resetTpm:bool cpuNum:int memorySize:int reservedMemorySize:int
 tagUuids:[]
CreateVmFromVolumeBackup z a POST vm-instances/from/vm-backup/{backupUuid} name! backupStorageUuid cpuNum:int
 memorySize:int instanceOfferingUuid l3NetworkUuids!:[] type=UserVm|ApplianceVm zoneUuid clusterUuid hostUuid
 primaryStorageUuidForRootVolume description rootVolumeSystemTags:[] strategy=InstantStart|JustCreate|CreateStopped
 resetTpm:bool tagUuids:[]
CreateVmInstance zs a POST vm-instances name! instanceOfferingUuid cpuNum:int memorySize:int reservedMemorySize:int
 imageUuid l3NetworkUuids:[] vmNicParams type=UserVm|ApplianceVm rootDiskOfferingUuid rootDiskSize:int
 dataDiskSizes:[int] dataDiskOfferingUuids:[] zoneUuid clusterUuid hostUuid primaryStorageUuidForRootVolume description
 strategy=InstantStart|JustCreate|CreateStopped sshKeyPairUuids:[] platform=Linux|Windows|Other|Paravirtualization
|WindowsVirtio guestOsType architecture virtio:bool allocatorStrategy diskAOs:[dict] devices:dict defaultL3NetworkUuid
 tagUuids:[]
CreateVmInstanceFromOvf z a POST ovf/create-vm-instance xmlBase64! jsonImageInfos! backupStorageUuid! jsonCreateVmParam!
 deleteImageAfterSuccess:bool deleteImageOnFail:bool tagUuids:[]
CreateVmInstanceFromTemplatedVmInstance z a POST
 vm-instances/{templatedVmInstanceUuid}/create-vmInstance-from-templated-vmInstance names!:[] strategy=InstantStart
|JustCreate|CreateStopped description cpuNum:int memorySize:int reservedMemorySize:int l3NetworkUuids:[]
 defaultL3NetworkUuid vmNicParams diskAOs:[dict] zoneUuid clusterUuid hostUuid instanceOfferingUuid type
 vmCustomSpecification:dict resetTpm:bool
CreateVmInstanceFromVolume zs a POST vm-instances/from/volume name! description instanceOfferingUuid cpuNum:int
 memorySize:int reservedMemorySize:int l3NetworkUuids:[] vmNicParams type=UserVm|ApplianceVm volumeUuid! platform=Linux
|Windows|Other|Paravirtualization|WindowsVirtio zoneUuid clusterUuid hostUuid primaryStorageUuid strategy=InstantStart
|CreateStopped defaultL3NetworkUuid tagUuids:[]
CreateVmInstanceFromVolumeSnapshot zs a POST vm-instances/from/volume-snapshots/{volumeSnapshotUuid} name! description
 instanceOfferingUuid cpuNum:int memorySize:int reservedMemorySize:int l3NetworkUuids:[] vmNicParams type=UserVm
|ApplianceVm platform=Linux|Windows|Other|Paravirtualization|WindowsVirtio zoneUuid clusterUuid hostUuid
 primaryStorageUuid strategy=InstantStart|CreateStopped rootVolumeSystemTags:[] defaultL3NetworkUuid tagUuids:[]
CreateVmInstanceFromVolumeSnapshotGroup zs a POST vm-instances/from/volume-snapshots/group/{volumeSnapshotGroupUuid}
 name! description instanceOfferingUuid cpuNum:int memorySize:int reservedMemorySize:int l3NetworkUuids:[] vmNicParams
 type=UserVm|ApplianceVm zoneUuid clusterUuid hostUuid primaryStorageUuidForRootVolume strategy=InstantStart
|CreateStopped rootVolumeSystemTags:[] dataVolumeSystemTags:dict resetTpm:bool defaultL3NetworkUuid tagUuids:[]
CreateVmNic zs a POST nics l3NetworkUuid! ip tagUuids:[]
CreateVmSchedulingRule z a POST vmsSchedulingRule rule!=AFFINITY|ANTIAFFINITY mode!=SOFT|HARD vmGroupUuid! hostGroupUuid
 name! description policy=antiSoft|antiHard type=host zoneUuid subType tagUuids:[]
CreateVmSchedulingRuleGroup z a POST vmSchedulingRuleGroup zoneUuid! name! description tagUuids:[]
CreateVmUserDefinedXmlHookScript s a POST vm-instances/xml-hook-script name! description hookScript! tagUuids:[]
CreateVniRange zs a POST l2-networks/vxlan-pool/{l2NetworkUuid}/vni-ranges name! description startVni!:int endVni!:int
 tagUuids:[]
CreateVolumeBackup z a POST volumes/{volumeUuid}/volume-backups backupStorageUuid! name! description mode=full
 volumeReadBandwidth:int volumeWriteBandwidth:int networkReadBandwidth:int networkWriteBandwidth:int tagUuids:[]
CreateVolumeSnapshot zs a POST volumes/{volumeUuid}/volume-snapshots name! description tagUuids:[]
CreateVolumeSnapshotGroup zs a POST volume-snapshots/group rootVolumeUuid! name! description withMemory:bool tagUuids:[]
CreateVolumesSnapshot z a POST volumes/volume-snapshots volumeUuids!:[]
CreateVpcHaGroup z a POST vpc/hagroups name! description monitorIps:[] tagUuids:[]
CreateVpcVRouter z a POST vpc/virtual-routers name! virtualRouterOfferingUuid! description zoneUuid clusterUuid hostUuid
 primaryStorageUuidForRootVolume rootVolumeSystemTags:[] vmNicParams tagUuids:[]
CreateVxlanPoolRemoteVtep zs a POST l2-networks/{l2NetworkUuid}/clusters/{clusterUuid}/remote-vtep-ip remoteVtepIp!
 tagUuids:[]
CreateVxlanVtep zs a POST l2-networks/vxlan/vteps hostUuid! poolUuid! vtepIp tagUuids:[]
CreateWebhook zs a POST web-hooks name! description url! type! opaque tagUuids:[]
CreateZone zs a POST zones name! description type=zstack isDefault:bool tagUuids:[]
DebugSignal zs a POST debug signals!:[]
DecodeStackTemplate z r POST cloudformation/stack/preview/resource type=zstack templateContent uuid parameters
 preparameters
DeleteAccessControlList zs a DELETE access-control-lists/{uuid}
DeleteAccessControlRule z a DELETE login-control/access-control/rules/{uuid}
DeleteAccessKey z a DELETE accesskeys/{uuid}
DeleteAccount zs a DELETE accounts/{uuid}
DeleteAccountGroup z a DELETE account-groups/{uuid}
DeleteAffinityGroup z a DELETE affinity-groups/{uuid}
DeleteAlarm z a DELETE zwatch/alarms/{uuid}
DeleteAlert z a DELETE monitoring/alerts uuids!:[]
DeleteAutoScalingGroup z a DELETE autoscaling/groups/{uuid}
DeleteAutoScalingGroupInstance z a DELETE autoscaling/groups/instances/{instanceUuid}
DeleteAutoScalingRule z a DELETE autoscaling/rules/{uuid}
DeleteAutoScalingRuleTrigger z a DELETE autoscaling/groups/rules/triggers/{uuid}
DeleteAutoScalingTemplate z a DELETE autoscaling/template/{uuid}
DeleteBackupStorage zs a DELETE backup-storage/{uuid}
DeleteBaremetalChassis z a DELETE baremetal/chassis/{uuid}
DeleteBaremetalPxeServer z a DELETE baremetal/pxeservers/{uuid}
DeleteBilling z a DELETE billings/billings accountUuid startTime:int endTime:int
DeleteBonding z a DELETE hosts/bondings/{uuid}
DeleteCbtTask z a DELETE cbt-task/{uuid} force:bool
DeleteCephPrimaryStoragePool zs a DELETE primary-storage/ceph/pools/{uuid}
DeleteCertificate zs a DELETE certificates/{uuid}
DeleteCluster zs a DELETE clusters/{uuid}
DeleteClusterDRS z a DELETE clusters/drs/{uuid}
DeleteDataVolume zs a DELETE volumes/{uuid}
DeleteDatabaseBackup z a DELETE database-backups/{uuid} backupStorageUuids:[]
DeleteDirectory zs a DELETE delete/directory uuid!
DeleteDiskOffering zs a DELETE disk-offerings/{uuid}
DeleteEip zs a DELETE eips/{uuid}
DeleteEmailAddressOfSNSEmailEndpoint z a DELETE
 sns/application-endpoints/emails/{endpointUuid}/email-addresses/{emailAddressUuid}
DeleteEventRuleTemplate z a DELETE zwatch/monitortemplates/evenrules/{uuid}
DeleteExportedDatabaseBackupFromBackupStorage z a DELETE
 exported-database-backup/{databaseBackupUuid}/backup-storage/{backupStorageUuid}
DeleteExportedImageFromBackupStorage zs a DELETE backup-storage/{backupStorageUuid}/exported-images/{imageUuid}
DeleteExternalBackup z a DELETE externalbackup/{uuid}
DeleteGCJob zs a DELETE gc-jobs/{uuid}
DeleteHost zs a DELETE hosts/{uuid}
DeleteHostKernelInterface z a DELETE l3-networks/kernel-interfaces/{uuid}
DeleteHostSchedulingRuleGroup z a DELETE hostSchedulingRuleGroup/{uuid}
DeleteIPsecConnection z a DELETE ipsec/{uuid}
DeleteImage zs a DELETE images/{uuid} backupStorageUuids:[]
DeleteImagePackage z a DELETE image-packages/{uuid}
DeleteImageReplicationGroup z a DELETE image-replication-groups/{uuid}
DeleteInstanceOffering zs a DELETE instance-offerings/{uuid}
DeleteIpAddress zs a DELETE l3-networks/{l3NetworkUuid}/ip-address usedIpUuids!:[]
DeleteIpRange zs a DELETE l3-networks/ip-ranges/{uuid}
DeleteIscsiServer z a DELETE storage-devices/iscsi/servers/{uuid}
DeleteKms z a DELETE key-providers/kms/{uuid}
DeleteL2Network zs a DELETE l2-networks/{uuid}
DeleteL3Network zs a DELETE l3-networks/{uuid}
DeleteLdapBinding zs a DELETE ldap/bindings/{accountUuid}
DeleteLdapServer zs a DELETE ldap/servers/{uuid}
DeleteLoadBalancer zs a DELETE load-balancers/{uuid}
DeleteLoadBalancerListener zs a DELETE load-balancers/listeners/{uuid}
DeleteLoadBalancerServerGroup zs a DELETE load-balancers/servergroups/{uuid}
DeleteLogConfiguration z a DELETE log/configurations/log4j2 configId!:int
DeleteLongJob zs a DELETE longjobs/{uuid}
DeleteMdevDevice z a DELETE mdev-devices/{mdevDeviceUuid}
DeleteMedia z a DELETE media/{uuid}
DeleteMetricData z a DELETE zwatch/metrics namespace! metricName!
DeleteMetricDataHttpReceiver z a DELETE zwatch/metrics/httpreceivers/{uuid}
DeleteMetricRuleTemplate z a DELETE zwatch/monitortemplates/metricrules/{uuid}
DeleteMetricTemplate z a DELETE zwatch/metrics/httpreceivers/templates/{uuid}
DeleteMonitorGroup z a DELETE zwatch/monitorgroups/{uuid}
DeleteMonitorTemplate z a DELETE zwatch/monitortemplates/{uuid}
DeleteMonitorTrigger z a DELETE monitoring/triggers/{uuid}
DeleteMonitorTriggerAction z a DELETE monitoring/trigger-actions/{uuid}
DeleteNasFileSystem z a DELETE primary-storage/nas/{uuid}
DeleteNasMountTarget z a DELETE primary-storage/nas/mount/{uuid}
DeleteNicQos z a DELETE vm-instances/{uuid}/nic-qos direction!=in|out
DeleteNkp z a DELETE key-providers/nkp/{uuid}
DeleteNvmeServer z a DELETE storage-devices/nvme/servers/{uuid}
DeletePciDevice z a DELETE pci-device/pci-devices/{uuid}
DeletePciDeviceOffering z a DELETE pci-device/pci-device-offerings/{uuid}
DeletePolicy s a DELETE accounts/policies/{uuid}
DeletePortForwardingRule zs a DELETE port-forwarding/{uuid}
DeletePortGroup z a DELETE l3-networks/port-group/{uuid}
DeletePreconfigurationTemplate z a DELETE baremetal/preconfigurations/{uuid}
DeletePriceTable z a DELETE billings/price-tables/{uuid}
DeletePrimaryStorage zs a DELETE primary-storage/{uuid}
DeleteReservedIpRange zs a DELETE l3-networks/reserved-ip-ranges/{uuid}
DeleteResourceAttributeKey z a DELETE resource-attributes/{uuid}
DeleteResourceAttributeValue z a DELETE resource-attributes/{keyUuid}/resources resourceUuids!:[]
DeleteResourceConfig zs a DELETE resource-configurations/{category}/{name}/{resourceUuid}
DeleteResourcePrice z a DELETE billings/prices/{uuid} cutoffPrice:bool
DeleteResourceStack z a DELETE cloudformation/stack/{uuid}
DeleteResourceStackVmPortMonitor z a DELETE cloudformation/stack/monitor/delvm stackUuid vmInstanceUuid! port:int
DeleteRole zs a DELETE identities/roles/{uuid}
DeleteSNSApplicationEndpoint z a DELETE sns/application-endpoints/{uuid}
DeleteSNSApplicationPlatform z a DELETE sns/application-platforms/{uuid}
DeleteSNSTextTemplate z a DELETE zwatch/alarms/sns/text-templates/{uuid}
DeleteSNSTopic z a DELETE sns/topics/{uuid}
DeleteSSOClient z a POST delete/sso/client uuid!
DeleteSSORedirectTemplate z a POST delete/sso/redirect/template uuid!
DeleteSchedulerJob z a DELETE scheduler/jobs/{uuid}
DeleteSchedulerJobGroup z a DELETE scheduler/jobgroups/{uuid}
DeleteSchedulerTrigger z a DELETE scheduler/triggers/{uuid}
DeleteSecurityGroup zs a DELETE security-groups/{uuid}
DeleteSecurityGroupRule zs a DELETE security-groups/rules ruleUuids!:[]
DeleteSshKeyPair zs a DELETE ssh-key-pair/{uuid}
DeleteStackTemplate z a DELETE cloudformation/template/{uuid}
DeleteTag zs a DELETE tags/{uuid}
DeleteTemplatedVmInstance z a DELETE vm-instances/templatedVmInstance/{uuid}
DeleteThirdpartyPlatform z a DELETE zwatch/third-party/platforms/{uuid}
DeleteUser s a DELETE accounts/users/{uuid}
DeleteUserGroup s a DELETE accounts/groups/{uuid}
DeleteVRouterOspfArea z a DELETE routerArea/{uuid}
DeleteVRouterRouteEntry z a DELETE vrouter-route-tables/{routeTableUuid}/route-entries/{uuid}
DeleteVRouterRouteTable z a DELETE vrouter-route-tables/{uuid}
DeleteVip zs a DELETE vips/{uuid}
DeleteVipQos z a DELETE vips/{uuid}/vip-qos port:int
DeleteVmBackup z a DELETE vm-backups/{groupUuid} backupStorageUuids:[] handleDependency:bool
DeleteVmBootMode zs a DELETE vm-instances/{uuid}/bootmode
DeleteVmCdRom zs a DELETE vm-instances/cdroms/{uuid}
DeleteVmConsolePassword zs a DELETE vm-instances/{uuid}/console-password
DeleteVmCustomSpecification z a DELETE vm-custom-specifications/{uuid}
DeleteVmHostname zs a DELETE vm-instances/{uuid}/hostnames
DeleteVmInstanceHaLevel z a DELETE vm-instances/{uuid}/ha-levels
DeleteVmNic zs a DELETE nics/{uuid}
DeleteVmNicFromSecurityGroup zs a DELETE security-groups/{securityGroupUuid}/vm-instances/nics vmNicUuids!:[]
DeleteVmSchedulingRuleGroup z a DELETE vmSchedulingRuleGroup/{uuid}
DeleteVmSshKey zs a DELETE vm-instances/{uuid}/ssh-keys
DeleteVmStaticIp zs a DELETE vm-instances/{vmInstanceUuid}/static-ips l3NetworkUuid! staticIp
DeleteVmUserDefinedXml z a DELETE vm-instances/{vmInstanceUuid}/xml
DeleteVmUserDefinedXmlHookScript z a DELETE vm-instances/{vmInstanceUuid}/xml-hook-script
DeleteVniRange zs a DELETE l2-networks/vxlan-pool/vni-ranges/{uuid}
DeleteVolumeBackup z a DELETE volume-backups/{uuid} backupStorageUuids:[] handleDependency:bool
DeleteVolumeQos z a DELETE volumes/{uuid}/qos mode
DeleteVolumeSnapshot zs a DELETE volume-snapshots/{uuid} direction=pull|commit|auto scope=single|chain|auto
DeleteVolumeSnapshotGroup zs a DELETE volume-snapshots/group/{uuid} direction=pull|commit|auto scope=single|chain|auto
DeleteVpcHaGroup z a DELETE vpc/hagroups/{uuid}
DeleteVxlanL2Network zs a DELETE l2-networks/vxlan/{uuid}
DeleteVxlanPoolRemoteVtep zs a DELETE l2-networks/{l2NetworkUuid}/clusters/{clusterUuid}/delete/remote-vtep-ip
 remoteVtepIp!
DeleteWebhook zs a DELETE web-hooks/{uuid}
DeleteZone zs a DELETE zones/{uuid}
DestroyBaremetalInstance z a DELETE baremetal/instances/{uuid}
DestroyVmInstance zs a DELETE vm-instances/{uuid}
DetachAutoScalingTemplateFromGroup z a DELETE autoscaling/template/{templateUuid}/groups/{groupUuid}
DetachBackupStorageFromZone zs a DELETE zones/{zoneUuid}/backup-storage/{backupStorageUuid}
DetachBaremetalPxeServerFromCluster z a DELETE clusters/{clusterUuid}/pxeservers/{pxeServerUuid}
DetachDataVolumeFromHost zs a DELETE volumes/{volumeUuid}/hosts hostUuid
DetachDataVolumeFromVm zs a DELETE volumes/{uuid}/vm-instances vmUuid
DetachEip zs a DELETE eips/{uuid}/vm-instances/nics
DetachGuestToolsIsoFromVm z a PUT vm-instances/{uuid}/actions
DetachHostFromHostSchedulingRuleGroup z a DELETE hostSchedulingRuleGroup/{hostGroupUuid}/host hostUuid!
DetachIscsiServerFromCluster z a DELETE clusters/{clusterUuid}/storage-devices/iscsi/servers/{uuid}
DetachIsoFromVmInstance zs a DELETE vm-instances/{vmInstanceUuid}/iso isoUuid
DetachL2NetworkFromCluster zs a DELETE l2-networks/{l2NetworkUuid}/clusters/{clusterUuid}
DetachL2NetworkFromHost z a DELETE l2-networks/{l2NetworkUuid}/hosts/{hostUuid}
DetachL3NetworkFromVm zs a DELETE vm-instances/nics/{vmNicUuid}
DetachL3NetworksFromIPsecConnection z a DELETE ipsec/{uuid}/l3networks l3NetworkUuids!:[]
DetachMdevDeviceFromVm z a DELETE mdev-devices/{mdevDeviceUuid}/vm-instances/{vmInstanceUuid}
DetachMonitorTriggerActionFromTrigger z a DELETE monitoring/triggers/{triggerUuid}/trigger-actions/{actionUuid}
DetachNetworkServiceFromL3Network zs a DELETE l3-networks/{l3NetworkUuid}/network-services networkServices:dict service
DetachNicFromBonding z a PUT hosts/bondings/{uuid}/detach slaveUuids!:[] type
DetachNvmeServerFromCluster z a DELETE clusters/{clusterUuid}/storage-devices/nvme/servers/{uuid}
DetachPciDeviceFromVm z a POST pci-device/pci-devices/{pciDeviceUuid}/detach vmInstanceUuid!
DetachPoliciesFromUser s a DELETE accounts/users/{userUuid}/policies policyUuids!:[]
DetachPolicyFromRole s a DELETE identities/policies/{policyUuid}/roles/{roleUuid}
DetachPolicyFromUser s a DELETE accounts/users/{userUuid}/policies/{policyUuid}
DetachPolicyFromUserGroup s a DELETE accounts/groups/{groupUuid}/policies/{policyUuid}
DetachPortForwardingRule zs a DELETE port-forwarding/{uuid}/vm-instances/nics
DetachPriceTableFromAccount z a DELETE billings/price-tables/{tableUuid}/accounts/{accountUuid}
DetachPrimaryStorageFromCluster zs a DELETE clusters/{clusterUuid}/primary-storage/{primaryStorageUuid}
DetachRoleFromAccount zs a DELETE identities/accounts/{accountUuid}/roles/{roleUuid}
DetachRoleFromAccountGroup z a DELETE account-groups/{groupUuid}/roles roleUuids!:[]
DetachScsiLunFromHost z a PUT storage-devices/scsi-lun/{uuid}/actions hostUuid
DetachScsiLunFromVmInstance z a DELETE vm-instances/{vmInstanceUuid}/scsi-lun/{uuid}
DetachSecurityGroupFromL3Network zs a DELETE security-groups/{securityGroupUuid}/l3-networks/{l3NetworkUuid}
DetachSshKeyPairFromVmInstance zs a DELETE ssh-key-pair/{sshKeyPairUuid}/vm-instance/{vmInstanceUuid}
DetachTagFromResources z a DELETE tags/{tagUuid}/resources resourceUuids!:[]
DetachUsbDeviceFromVm z a POST usb-device/usb-devices/{usbDeviceUuid}/detach
DetachVRouterRouteTableFromVRouter z a DELETE vrouter-route-tables/{routeTableUuid}/detach/{virtualRouterVmUuid}
DetachVmFromVmSchedulingRuleGroup z a DELETE vmSchedulingRuleGroup/{vmGroupUuid}/vmInstance/ vmUuid!
DisableCbtTask z a POST cbt-task/disable/{uuid} force:bool
DiscoverExternalPrimaryStorage zs a POST primary-storage/addon/discover url! identity config
DiscoverStrangePrimaryStorage z r GET primary-storage/stranger clusterUuid!
EnableCbtTask z a POST cbt-task/enable/{uuid} bitmapName
ExecuteAutoScalingRule z a PUT autoscaling/rules/{uuid}/actions
ExecuteDRSScheduling z a PUT clusters/drs/{uuid}/actions
ExportDatabaseBackupFromBackupStorage z a PUT
 database-backups/{databaseBackupUuid}/backup-storage/{backupStorageUuid}/actions
ExportImageFromBackupStorage zs a PUT backup-storage/{backupStorageUuid}/actions imageUuid! exportFormat=raw|qcow2
ExportNbdVolumes z a POST cbt-task/exportvolume volumeUuids!:[] vmInstanceUuid! force:bool
ExportVmOvaPackage z a POST ovf/ova-packages name description vmUuid! backupStorageUuid! tagUuids:[]
ExpungeBaremetalInstance z a PUT baremetal/instances/{uuid}/actions
ExpungeDataVolume zs a PUT volumes/{uuid}/actions
ExpungeImage zs a PUT images/{imageUuid}/actions uuid backupStorageUuids:[]
ExpungeVmInstance zs a PUT vm-instances/{uuid}/actions
ExpungeVmUserDefinedXmlHookScript s a DELETE vm-instances/xml-hook-script uuid!
FlattenVmInstance zs a PUT vm-instances/{uuid}/actions full:bool dryRun:bool
FlattenVolume zs a PUT volumes/{uuid}/actions dryRun:bool
FstrimVm zs a POST vm-instances/{uuid}/actions
GenerateAccountBilling z a PUT billings/accounts/{accountUuid}/actions
GenerateMdevDevices z a PUT pci-devices/{pciDeviceUuid}/actions mdevSpecUuid!
GenerateSeMdevDevices z a PUT mtty-devices/{mttyDeviceUuid}/actions virtPartNum!:int
GenerateSriovPciDevices z a PUT pci-devices/{pciDeviceUuid}/actions virtPartNum!:int
GenerateSshKeyPair zs w POST ssh-key-pair/generate name! description
GetAccessPath z r GET block-volumes/access/path primaryStorageUuid!
GetAccountGroupTree z r GET account-groups/tree groupUuid level:int showGroup:bool showAccount:bool
GetAccountPriceTableRef z r GET billings/price-tables/refs tableUuid accountUuid
GetAccountQuotaUsage zs r GET accounts/quota/{uuid}/usages
GetActiveAlarmStatus z r GET zwatch/activealarms/status accountUuid!
GetAlarmData z r GET zwatch/alarm-histories startTime:int endTime:int limit:int conditions:[] count:bool
 excludeOtherAccount:bool start:int endpointUuid
GetAllEventMetadata z r GET zwatch/events/meta-data name namespace
GetAllMetricMetadata z r GET zwatch/metrics/meta-data name namespace
GetAttachablePublicL3ForVRouter zs r GET vm-instances/appliances/virtual-routers/{vmInstanceUuid}/attachable-public-l3s
GetAttachableVpcL3Network z r POST vpc/virtual-routers/{uuid}/attachable-vpc-l3s
GetAuditData z r GET zwatch/audits startTime:int endTime:int limit:int conditions:[] auditType=Login|Resource
GetAvailableTriggers z r GET scheduler/triggers/available
GetBackupStorageCandidatesForImageMigration z r GET backup-storage/{srcBackupStorageUuid}/migration-candidates
GetBackupStorageCapacity zs r GET backup-storage/capacities zoneUuids:[] backupStorageUuids:[] all:bool
GetBackupStorageTypes zs r GET backup-storage/types
GetBaremetalChassisPowerStatus z r GET baremetal/chassis/{uuid}/powerstatus
GetBlockPrimaryStorageMetadata z r POST primary-storage/block/metadata @param vendorName! metadata!
GetCandidateAffinityGroupForAttachingVm z r GET affinityGroup/attachingVm vmUuid!
GetCandidateAffinityGroupForCreatingVm z r GET vm-instances/candidate-affinityGroup zoneUuid! clusterUuid hostUuid
GetCandidateBackupStorageForCreatingImage zs r GET images/candidate-backup-storage
,images/volumes/{volumeUuid}/candidate-backup-storage
,images/volume-snapshots/{volumeSnapshotUuid}/candidate-backup-storage volumeUuid volumeSnapshotUuid
GetCandidateClustersForAttachingL2Network zs r GET l2-networks/{l2NetworkUuid}/cluster-candidates clusterTypes:[]
GetCandidateHostKernelInterfaces z r GET hosts/kernel-interfaces hostUuids!:[] cidr trafficTypes:[]
 containsRejected:bool
GetCandidateImagesForCreatingVm z r GET images/primaryStorage/{primaryStorageUuid}/candidate-image
GetCandidateInterfaceVlanIds z r GET host/network-interface-vlan-ids interfaceUuids!:[]
GetCandidateIsoForAttachingVm zs r GET vm-instances/{vmInstanceUuid}/iso-candidates
GetCandidateL2NetworksForAttachingCluster zs r GET cluster/{clusterUuid}/l2-candidates
GetCandidateL3NetworksForChangeVmNicNetwork zs r GET vm-instances/nics/{vmNicUuid}/l3-networks-candidates
GetCandidateL3NetworksForIpSecConnection z r GET ipsec/candidatesL3Networks publicL3Uuid vipUuid
GetCandidateL3NetworksForLoadBalancer zs r GET load-balancers/listeners/{listenerUuid}/networks/candidates
GetCandidateL3NetworksForServerGroup zs r GET load-balancers/servergroups/candidate-l3network serverGroupUuid
 loadBalancerUuid
GetCandidateLdapEntryForBinding zs r GET ldap/entries/candidates ldapFilter! limit:int ldapServerUuid
GetCandidateMiniHosts z r GET mini-clusters/candidate-hosts local:bool configure:bool
GetCandidateNetworkBondings z r GET cluster/hosts-network-bondings hostUuids!:[]
GetCandidateNetworkInterfaces z r GET cluster/hosts-network-interfaces hostUuids!:[] interfaceType=interface|bonding|all
 intersecting:bool
GetCandidatePrimaryStoragesForCreatingVm zs r GET vm-instances/candidate-storages imageUuid! l3NetworkUuids!:[]
 rootDiskOfferingUuid rootDiskSize:int dataDiskOfferingUuids:[] dataDiskSizes:[int] zoneUuid clusterUuid
 defaultL3NetworkUuid
GetCandidateVMForAttachingAffinityGroup z r GET VM/attachingGroup affinityGroupUuid!
GetCandidateVmForAttachingIso zs r GET images/iso/{isoUuid}/vm-candidates
GetCandidateVmNicForSecurityGroup zs r GET security-groups/{securityGroupUuid}/vm-instances/candidate-nics
GetCandidateVmNicsForLoadBalancer zs r GET load-balancers/listeners/{listenerUuid}/vm-instances/candidate-nics
GetCandidateVmNicsForLoadBalancerServerGroup zs r GET load-balancers/servergroups/candidate-nics servergroupUuid
 loadBalancerUuid
GetCandidateZonesClustersHostsForCreatingVm zs r GET vm-instances/candidate-destinations instanceOfferingUuid imageUuid!
 l3NetworkUuids!:[] rootDiskOfferingUuid rootDiskSize:int dataDiskOfferingUuids:[] cpuNum:int memorySize:int zoneUuid
 clusterUuid defaultL3NetworkUuid
GetChainTask zs r GET core/task-details syncSignatures:[]
GetChronyServers z r GET zops/chrony/servers
GetClusterDRSStatus z r GET clusters/drs/status drsUuid!
GetClusterHostNetworkFacts z r GET cluster/hosts-network-facts/{clusterUuid}
GetCpuMemoryCapacity zs r GET hosts/capacities/cpu-memory zoneUuids:[] clusterUuids:[] hostUuids:[] hypervisorType=KVM
|ESX all:bool
GetCurrentTime zs r PUT management-nodes/actions
GetDataVolumeAttachableVm zs r GET volumes/{volumeUuid}/candidate-vm-instances
GetDatabaseBackupFromImageStore z r GET database-backups/image-store url! registryPort:int
GetDebugSignal zs r GET debug
GetDirectoryUsage z r GET software-package/directory/usage managementNodeUuid! directoryPath!
GetEipAttachableVmNics zs r GET eips/{eipUuid}/vm-instances/candidate-nics vipUuid vmUuid vmName networkServiceProvider
 attachedToVm:bool
GetElaborationCategories zs r GET errorcode/elaborations/categories
GetElaborations zs r GET errorcode/elaborations category code regex
GetEncryptedField zs r GET encrypted/fields encryptedType
GetEventData z r GET zwatch/events startTime:int endTime:int offsetAheadOfCurrentTime:int limit:int count:bool start:int
 conditionExpression endpointUuid
GetExternalServices zs r GET external/services
GetFactoryModeState z r GET management-nodes/factory-mode-state
GetFreeIp zs r GET l3-networks/ip/free,l3-networks/{l3NetworkUuid}/ip/free,l3-networks/ip-ranges/{ipRangeUuid}/ip/free
 l3NetworkUuid ipRangeUuid start ipRangeType=Normal|AddressPool ipVersion:int=4|6 limit:int
GetGlobalConfigOptions zs r GET global-configurations/{category}/{name}
GetGuestOsMetadata s r GET guest-os/metadata
GetHostAllocatorStrategies zs r GET hosts/allocators/strategies
GetHostBlockDevices z r GET hosts/{uuid}/get-block-devices
GetHostCandidatesForVmMigration z r GET primary-storage/hosts/{vmInstanceUuid}/migration-candidates
 dstPrimaryStorageUuid! limit:int
GetHostIommuState z r GET pci-device/hosts/{uuid}/state
GetHostIommuStatus z r GET pci-device/hosts/{uuid}/status
GetHostMultipathTopology z r GET storage-devices/multipath/topology hostUuid! lunUuids!:[]
GetHostNUMATopology z a POST hosts/{uuid}/numa
GetHostNetworkFacts z r GET hosts/network-facts/{hostUuid}
GetHostNetworkInterfaceLldp zs r GET hostNetworkInterface/lldp/{interfaceUuid}/info
GetHostPhysicalMemoryFacts z r GET hosts/physical-memory-facts/{hostUuid}
GetHostPowerStatus zs a PUT hosts/power/{uuid}/actions method=AUTO|AGENT|IPMI
GetHostResourceAllocation z a POST hosts/{uuid}/resource-allocation strategy!=continuous scene!=normal|performance
 vcpu!:int memSize:int
GetHostSensors z r GET hosts/{uuid}/get-sensors
GetHostTask zs r GET hosts/task-details hostUuids!:[] syncSignatures:[]
GetHostWebSshUrl zs a POST hosts/webssh uuid! https:bool userName! password!
GetHypervisorTypes zs r GET hosts/hypervisor-types
GetImageCandidatesForVmToChange z r GET vm-instances/{vmInstanceUuid}/image-candidates
GetImageQga z r GET images/{uuid}/qga
GetImagesFromImageStoreBackupStorage z r PUT backup-storage/{uuid}/image-store
GetInterdependentL3NetworksBackupStorages zs r GET backupStorage-l3networks/dependencies zoneUuid! backupStorageUuid
 l3NetworkUuids:[]
GetInterdependentL3NetworksImages zs r GET images-l3networks/dependencies zoneUuid! l3NetworkUuids:[] imageUuid
 raiseException:bool
GetInterfaceServiceTypeStatistic z r GET hosts/hosts-network-interfaces/service-type-statistic interfaceUuid vlanId:int
 interfaceType serviceType:[] zoneUuid clusterUuid hostUuid sortBy sortDirection start:int limit:int replyWithCount:bool
GetIpAddressCapacity zs r GET ip-capacity zoneUuids:[] l3NetworkUuids:[] ipRangeUuids:[] all:bool
GetKmsServerCertFromKms z a PUT key-providers/kms/{uuid}/actions
GetL2NetworkTypes zs r GET l2-networks/types
GetL3NetworkDhcpIpAddress zs r GET l3-networks/{l3NetworkUuid}/dhcp-ip
GetL3NetworkIpStatistic zs r GET l3-networks/{l3NetworkUuid}/ip-statistic resourceType ip sortBy sortDirection start:int
 limit:int replyWithCount:bool
GetL3NetworkMtu zs r GET l3-networks/{l3NetworkUuid}/mtu
GetL3NetworkRouterInterfaceIp zs r GET l3-networks/{l3NetworkUuid}/router-interface-ip
GetL3NetworkTypes zs r GET l3-networks/types
GetLatestGuestToolsForVm z r GET vm-instances/{uuid}/latest-guest-tools
GetLdapEntry zs r GET ldap/entry ldapFilter! limit:int ldapServerUuid searchAllAttributes:bool returningAttributes:[]
GetLoadBalancerListenerACLEntries zs r GET load-balancers/listeners/access-control-lists/entries listenerUuids:[]
 type=RedirectRule|IpEntry
GetLocalRaidPhysicalDriveSmart z r GET storage-devices/local-raid/physical-drives/{uuid}/smart
GetLocalStorageHostDiskCapacity zs r GET primary-storage/local-storage/{primaryStorageUuid}/capacities hostUuid
GetLogConfiguration z r GET log/configurations
GetLoginCaptcha z r GET login/control/captcha resourceName! loginType! captchaUuid
GetLoginProcedures zs r GET login/procedures username! loginType!
GetManagementNodeArch zs r PUT management-nodes/actions
GetManagementNodeDirCapacity z r GET zwatch/mn managementNodeUuids:[]
GetManagementNodeOS zs r PUT management/actions
GetManagementNodesStatus z r GET management-nodes/status
GetMdevDeviceCandidates z r GET mdev-devices/candidates clusterUuids:[] hostUuid vmInstanceUuid types:[]
GetMdevDeviceSpecCandidates z r GET mdev-device-specs/candidates clusterUuids:[] hostUuid vmInstanceUuid
 vmInstanceUuids:[] types:[]
GetMemorySnapshotGroupReference zs r GET memory-snapshots/group/reference resourceUuid! resourceType!
GetMetricData z r GET zwatch/metrics namespace! metricName! startTime:int endTime:int offsetAheadOfCurrentTime:int
 period:int
GetMetricLabelValue z r GET zwatch/metrics/label-values namespace! metricName! startTime:int endTime:int labelNames!:[]
 filterLabels:[]
GetMonitorItem z r GET monitoring/items resourceType!
GetNetworkServiceTypes zs r GET network-services/types
GetNicQos z r GET vm-instances/{uuid}/nic-qos forceSync:bool
GetNoTriggerSchedulerJobs z r GET scheduler/jobs/candidates
GetNodeRoles z r GET zsv/nodes/roles
GetOAuth2Token z r GET get/oauth2/token
GetOAuthClientSecret z r GET oauth2/clients/{uuid}/client-secret
GetPciDeviceCandidatesForAttachingVm z r GET vm-instances/{vmInstanceUuid}/candidate-pci-devices types:[]
 pciSpecUuids:[]
GetPciDeviceCandidatesForNewCreateVm z r GET pci-device/candidate-pci-devices-for-new-create-vm hostUuid clusterUuids:[]
 types:[]
GetPciDeviceSpecCandidates z r GET pci-device-specs/candidates clusterUuids:[] hostUuid vmInstanceUuid
 vmInstanceUuids:[] types:[]
GetPhysicalMachineBlockDevices z r GET host/get-block-devices username! password sshPort!:int hostName! excludedTypes:[]
GetPlatformTimeZone zs r GET management-nodes/platform-timezone
GetPortForwardingAttachableVmNics zs r GET port-forwarding/{ruleUuid}/vm-instances/candidate-nics
GetPrimaryStorageAllocatorStrategies zs r GET primary-storage/allocators/strategies
GetPrimaryStorageCandidatesForVmMigration z r GET vm-instances/{vmInstanceUuid}/storage-migration-candidates
 withDataVolumes:bool migrateStorageOnly:bool
GetPrimaryStorageCandidatesForVolumeMigration z r GET primary-storage/volumes/{volumeUuid}/migration-candidates
GetPrimaryStorageCapacity zs r GET primary-storage/capacities zoneUuids:[] clusterUuids:[] primaryStorageUuids:[]
 all:bool
GetPrimaryStorageLicenseInfo zs r GET primary-storage/{uuid}/license
GetPrimaryStorageTypes zs r GET primary-storage/types
GetPrimaryStorageUsageReport zs r GET primary-storage/{primaryStorageUuid}/usage/report uris:[]
GetPrometheusMetricLabelValue z r GET zwatch/metrics/prometheus/label-values namespace! metricName! startTime:int
 endTime:int labelNames:[] filterLabels:[]
GetResourceAccount zs r GET resources/accounts resourceUuids!:[]
GetResourceBindableConfig zs r GET resource-configurations/bindable,resource-configurations/bindable/{category} category
GetResourceConfig zs r GET resource-configurations/{resourceUuid}/{category}/{name}
GetResourceConfigs zs r GET resource-configurations/{resourceUuid}/{category} names!:[]
GetResourceEnsembleMembers z r GET iam1/resource-ensemble,iam1/resource-ensemble/{uuid} uuid!
GetResourceFromResourceStack z r GET cloudformation/stack/resources uuid!
GetResourceInAccountGroup z r GET account-groups/{groupUuid}/resources includeInheritedResources:bool
GetResourceNames zs r GET resources/names uuids!:[]
GetResourceSharing z r GET iam1/resource-ensemble/view-sharing uuid!
GetResourceStackFromResource z r GET cloudformation/resources/stack resourceUuid!
GetResourceStackVmStatus z r GET cloudformation/stack/monitor/vmstatus uuid!
GetRolePolicyActions z r GET identities/role/policy-actions showAllPolicies:bool
GetRolesForAccountGroup z r GET account-groups/{groupUuid}/roles includeInheritedRoles:bool
GetRouteTableVpcVRouterCandidate z r GET vpc/virtual-routers/get-vpc-candidate tableUuid
GetSSOClient z r GET get/sso/client
GetSchedulerExecutionReport z r GET scheduler/report startTime!:int intervalTimeUnit!=Hour|Day|Month range!:int
 schedulerJobTypes!:[]
GetScsiLunCandidatesForAttachingVm z r GET vm-instances/{vmInstanceUuid}/candidate-storage-devices
GetSharedBlockCandidate z r GET primary-storage/sharedblockgroup/sharedblock-candidates clusterUuid!
GetSpiceCertificates zs r GET spice/certificates
GetSupportAPIs zs r PUT management-nodes/actions
GetSupportedCloudFormationResources z r GET cloudformation/resources version=v1 type=zstack
GetSupportedIdentityModels s r GET identity-models
GetTaskProgress zs r GET task-progresses/{apiId} all:bool
GetTelemetryConsent z r GET telemetry/consent
GetTelemetrySetting z r GET telemetry/settings
GetTextTemplateArg z r GET zwatch/textTemplateArg
GetTpmCapability z r GET tpms/capability tpmUuid vmInstanceUuid
GetTrashOnBackupStorage zs r GET backup-storage/trash uuid! resourceUuid resourceType trashType=MigrateImage
GetTrashOnPrimaryStorage zs r GET primary-storage/trash uuid! resourceUuid resourceType trashType=MigrateVolume
|MigrateVolumeSnapshot|RevertVolume|VolumeSnapshot
GetTwoFactorAuthenticationSecret z r GET twofactorauthentication/secret name! password! captchaUuid verifyCode
 type!=account|ldap
GetTwoFactorAuthenticationState z r GET twofactorauthentication/state
GetUploadImageJobDetails zs r GET images/upload-job/details/{imageId}
GetUploadSoftwarePackageJobDetails z r GET software-package/upload-jobs/details/{softwarePackageId}
GetUsbDeviceCandidatesForAttachingVm z r GET vm-instances/{vmInstanceUuid}/candidate-usb-devices attachType=PassThrough
|Redirect
GetVRouterOspfNeighbor z r GET routerArea/{vRouterUuid}/neighbor
GetVRouterRouteTable z r GET vrouter-route-tables/vrouter/{virtualRouterVmUuid}
GetVRouterRouterId z r GET routerArea/{vRouterUuid}/routerid
GetVSwitchTypes zs r GET l2-networks/vSwitchTypes
GetVersion zs r PUT management-nodes/actions
GetVipAvailablePort zs r GET vips/{vipUuid}/get-port-availability protocolType!=TCP|UDP
GetVipQos z r GET vip/{uuid}/vip-qos
GetVipUsedPorts zs r GET vips/{uuid}/usedports protocol!=TCP|UDP
GetVirtualRouterSoftwareVersion z r GET vpc/virtual-routers/softwareversion uuid softwareName!=IPsec needUpdate:bool
GetVirtualizerInfo z r GET vm-instances/virtualizer-info uuids!:[]
GetVmAttachableDataVolume zs r GET vm-instances/{vmInstanceUuid}/data-volume-candidates
GetVmAttachableL3Network zs r GET vm-instances/{vmInstanceUuid}/l3-networks-candidates
GetVmBootOrder zs r GET vm-instances/{uuid}/boot-orders
GetVmCapabilities zs r GET vm-instances/{uuid}/capabilities
GetVmConsoleAddress zs r GET vm-instances/{uuid}/console-addresses
GetVmConsolePassword zs r GET vm-instances/{uuid}/console-passwords
GetVmDeviceAddress zs r GET vm-instances/devices uuid! resourceTypes!:[]=VolumeVO
GetVmDns z r GET vm-instances/{vmInstanceUuid}/dns vmNicUuid ipVersion:int=4|6
GetVmEmulatorPinning z r GET vm-instances/{uuid}/emulator-pinning
GetVmGuestToolsInfo z r GET vm-instances/{uuid}/guest-tools-infos debug:[]
GetVmHostname zs r GET vm-instances/{uuid}/hostnames
GetVmInstanceFirstBootDevice z r GET vm-instances/{uuid}/first-boot-device
GetVmInstanceHaLevel z r GET vm-instances/{uuid}/ha-levels
GetVmInstanceMetadataFromPrimaryStorage z r GET primary-storage/vm-instances/metadata
GetVmMigrationCandidateHosts zs r GET vm-instances/{vmInstanceUuid}/migration-target-hosts
GetVmMonitorNumber z r GET vm-instances/{uuid}/monitorNumber
GetVmNicAttachableEips zs r GET vm-instances/nics/{vmNicUuid}/candidate-eips ipVersion:int=4|6
GetVmNicAttachedNetworkService zs r GET vm-instances/nics/{vmNicUuid}/attached-networkservices
GetVmNuma z r GET vm-instances/{uuid}/vnuma
GetVmQga z r GET vm-instances/{uuid}/qga
GetVmRDP z r GET vm-instances/{uuid}/rdp
GetVmSchedulingRulesExecuteState z r POST get/vmSchedulingRules/conflict/state uuids!:[]
GetVmSshKey zs r GET vm-instances/{uuid}/ssh-keys
GetVmStartingCandidateClustersHosts zs r GET vm-instances/{uuid}/starting-target-hosts
GetVmTask zs r GET vm-instances/task-details vmInstanceUuids!:[] syncSignatures:[]
GetVmUptime z r GET vm-instances/{uuid}/uptime
GetVmUsbRedirect z r GET vm-instances/{uuid}/usbredirect
GetVmXml z r GET vm-instances/{vmInstanceUuid}/xml
GetVmXmlHookScript z r GET vm-instances/{vmInstanceUuid}/xml-hook-script
GetVmsCapabilities zs a POST vm-instances/capabilities vmUuids!:[]
GetVmsSchedulingStateFromSchedulingRule z r POST get/vms/schedulingState/from/SchedulingRule ruleUuid! vmUuids!:[]
GetVmvNUMATopology z r GET vm-instances/{uuid}/vnuma-topology
GetVolumeCapabilities zs r GET volumes/{uuid}/capabilities
GetVolumeFormat zs r GET volumes/formats
GetVolumeIoThreadPin z r GET volumes/{uuid}/io-thread-pin
GetVolumeQos z r GET volumes/{uuid}/qos forceSync:bool
GetVolumeSnapshotSize zs a PUT volume-snapshots/{uuid}/actions
GetVpcAttachedEip z a POST vpc/virtual-routers/{uuid}/attached-eip
GetVpcAttachedIpsec z a POST vpc/virtual-routers/{uuid}/attached-ipsec
GetVpcAttachedLoadBalancer z a POST vpc/virtual-routers/{uuid}/attached-lb
GetVpcAttachedOspf z a POST vpc/virtual-routers/{uuid}/attached-ospf
GetVpcAttachedPortForwardingRules z a POST vpc/virtual-routers/{uuid}/attached-pf
GetVpcAttachedVip z a POST vpc/virtual-routers/{uuid}/attached-vip
GetVpcIPsecLog z r GET vpc/virtual-routers/ipseclog uuid! lines:int
GetVpcVRouterDistributedRoutingConnections z r GET vpc/virtual-routers/{uuid}/tracked-connections
GetVpcVRouterDistributedRoutingEnabled z r GET vpc/virtual-routers/{uuid}/distributed-routing
GetVpcVRouterNetworkServiceState z r GET vpc/virtual-routers/{uuid}/networkservicestate networkService!=SNAT
 l3NetworkUuid
GetZMigrateGatewayVmInstances z r GET zmigrate/vm-instances
GetZMigrateImages z r GET zmigrate/images
GetZMigrateInfos z r GET zmigrate/management/infos
GetZSha2Status z r GET management-nodes/zsha2/status
GetZWatchAlertHistogram z r GET zwatch/alert-histories/histogram tableName! startTime!:int endTime!:int
 intervalHours!:int groupColumns:[]
GetZone zs r GET zones/{uuid}/info
IdentifyHost z a PUT hosts/kvm/{uuid}/actions interval:int
InspectBaremetalChassis z a PUT baremetal/chassis/{uuid}/actions
InstallSoftwarePackage z a PUT software-package/install/{uuid}/actions config
IsOpensourceVersion zs r GET meta-data/opensource
IsReadyToGo zs r GET management-nodes/ready
IsVfNicAvailableInL3Network z r GET l3-networks/{l3NetworkUuid}/hosts/{hostUuid}/vfnicavailable
KvmRunShell zs a PUT hosts/kvm/actions hostUuids!:[] script!
ListVmSchedulingRulesFromExecuteState z r POST list/vmSchedulingRules/from/conflict/state executeStates!:[]
ListVmsFromSchedulingState z r POST list/vms/from/executeState ruleUuid! executeStates!:[]
LocalStorageGetVolumeMigratableHosts zs r GET volumes/{volumeUuid}/migration-target-hosts
LocalStorageMigrateVolume zs a PUT primary-storage/local-storage/volumes/{volumeUuid}/actions destHostUuid!
LocateHostNetworkInterface z a PUT hosts/{hostUuid}/locate/network-interface networkInterfaceName! interval:int
LocateLocalRaidPhysicalDrive z a PUT storage-devices/local-raid/physical-drives/{uuid}/actions locate:bool
LogIn zs w PUT login username! password! loginType! captchaUuid verifyCode clientInfo:dict properties:dict
LogInByAccount zs w PUT accounts/login accountName! password! accountType captchaUuid verifyCode clientInfo:dict
LogInByLdap s w PUT ldap/login uid! password! verifyCode captchaUuid clientInfo:dict
LogInByUser s w PUT accounts/users/login accountUuid accountName userName! password! clientInfo:dict
LogOut zs w DELETE accounts/sessions/{sessionUuid} clientInfo:dict
MigrateVm zs a PUT vm-instances/{vmInstanceUuid}/actions hostUuid migrateFromDestination:bool allowUnknown:bool
 strategy=auto-converge downTime:int
MountBlockDevice z a POST host/mount-block-device username! password sshPort!:int hostName! path! mountPoint!
 filesystemType=ext4|xfs
MoveAccountGroup z a PUT account-groups/{uuid}/actions parentUuid
MoveDirectory zs a PUT move/directory targetParentUuid! directoryUuid!
MoveResourcesToDirectory zs a PUT move/resources/directory resourceUuids!:[] directoryUuid!
ParseNkpRestore z a PUT key-providers/nkp/actions contentBase64! password
ParseOvf z r POST ovf/parse xmlBase64!
PauseVmInstance zs a PUT vm-instances/{uuid}/actions
PowerOffBaremetalChassis z a PUT baremetal/chassis/{chassisUuid}/actions
PowerOffHost z a PUT hosts/power-off/actions adminPassword! hostUuids!:[] waitTaskCompleted:bool maxWaitTime:int
PowerOnBaremetalChassis z a PUT baremetal/chassis/{chassisUuid}/actions
PowerOnHost zs a PUT hosts/power/{uuid}/actions returnEarly:bool
PowerResetBaremetalChassis z a PUT baremetal/chassis/{chassisUuid}/actions
PowerResetHost zs a PUT hosts/power/{uuid}/actions returnEarly:bool method=AUTO|AGENT|IPMI
PreviewResourceStack z r POST cloudformation/stack/preview type=zstack templateContent uuid parameters preParameters
PrimaryStorageMigrateVm z a PUT vm-instances/{vmInstanceUuid}/actions dstPrimaryStorageUuid! dstHostUuid
 withDataVolumes:bool withSnapshots:bool downTime:int strategy=auto-converge bandwidth:int
PrimaryStorageMigrateVolume z a PUT primary-storage/volumes/{volumeUuid}/actions dstPrimaryStorageUuid!
PrometheusQueryLabelValues z r GET prometheus/labels labels!:[]
PrometheusQueryMetadata z r GET prometheus/meta-data matches!:[]
PrometheusQueryPassThrough z r GET prometheus/all startTime:int endTime:int expression!
PrometheusQueryVmMonitoringData z r GET prometheus/vm-instances vmUuids!:[] startTime:int endTime:int expression!
ProvisionVirtualRouterConfig zs a PUT vm-instances/appliances/virtual-routers/{vmInstanceUuid}/provision
PutMetricData z a POST zwatch/metrics namespace! data!:[dict]
QueryAccessControlList zs q GET access-control-lists,access-control-lists/{uuid}
QueryAccessControlRule z q GET login-control/access-control/rules
QueryAccessKey z q GET accesskeys,accesskeys/{uuid}
QueryAccount zs q GET accounts,accounts/{uuid}
QueryAccountBilling z q GET billing/billings,billing/billings/{id}
QueryAccountGroup z q GET account-groups,account-groups/{uuid}
QueryAccountPriceTableRef z q GET accounts/price-tables/refs
QueryAccountResourceRef zs q GET accounts/resources/refs
QueryActiveAlarm z q GET zwatch/activealarms/alarms,zwatch/activealarms/alarms/{uuid}
QueryActiveAlarmTemplate z q GET zwatch/activealarms/templates,zwatch/activealarms/templates/{uuid}
QueryAddressPool zs q GET l3-networks/address-pools,l3-networks/address-pools/{uuid}
QueryAffinityGroup z q GET affinity-groups,affinity-groups/{uuid}
QueryAgentVersion s q GET agent-version,agent-version/{uuid}
QueryAlarm z q GET zwatch/alarms,zwatch/alarms/{uuid}
QueryAlarmRecord z q GET zwatch/alarm-records
QueryAlert z q GET monitoring/alerts,monitoring/alerts/{uuid}
QueryAlertDataAck z q GET zwatch/alert-histories/acknowledgments,zwatch/alert-histories/acknowledgments/{alertDataUuid}
QueryAliyunSmsSNSTextTemplate z q GET zwatch/alarms/sns/text-templates/aliyun-sms
,zwatch/alarms/sns/text-templates/aliyun-sms/{uuid}
QueryApplianceVm zs q GET vm-instances/appliances,vm-instances/appliances/{uuid}
QueryAudit z q GET zwatch/audit-records
QueryAutoScalingGroup z q GET autoscaling/groups,autoscaling/groups/{uuid}
QueryAutoScalingGroupActivity z q GET autoscaling/groups/activities,autoscaling/groups/activities/{uuid}
QueryAutoScalingGroupInstance z q GET autoscaling/groups/instances,autoscaling/groups/instances/{uuid}
QueryAutoScalingRule z q GET autoscaling/groups/rules,autoscaling/groups/rules/{uuid}
QueryAutoScalingRuleTrigger z q GET autoscaling/groups/rules/trigger,autoscaling/groups/rules/trigger/{uuid}
QueryAutoScalingVmTemplate z q GET autoscaling/vmtemplate,autoscaling/vmtemplate/{uuid}
QueryBackupStorage zs q GET backup-storage,backup-storage/{uuid}
QueryBaremetalBonding z q GET baremetal/network/bondings,baremetal/network/bondings/{uuid}
QueryBaremetalChassis z q GET baremetal/chassis,baremetal/chassis/{uuid}
QueryBaremetalInstance z q GET baremetal/instances,baremetal/instances/{uuid}
QueryBaremetalPxeServer z q GET baremetal/pxeservers,baremetal/pxeservers/{uuid}
QueryBlockPrimaryStorage z q GET primary-storage/block,primary-storage/block/{uuid}
QueryBlockVolume z q GET block-volumes,block-volumes/{uuid}
QueryCbtTask z q GET cbt-task,cbt-task/{uuid}
QueryCephBackupStorage zs q GET backup-storage/ceph,backup-storage/ceph/{uuid}
QueryCephOsdGroup zs q GET primary-storage/ceph/osdgroups,primary-storage/ceph/osdgroups/{uuid}
QueryCephPrimaryStorage zs q GET primary-storage/ceph,primary-storage/ceph/{uuid}
QueryCephPrimaryStoragePool zs q GET primary-storage/ceph/pools,primary-storage/ceph/pools/{uuid}
QueryCertificate zs q GET certificates,certificates/{uuid}
QueryCluster zs q GET clusters,clusters/{uuid}
QueryClusterDRS z q GET clusters/drs,clusters/drs/{uuid}
QueryConsoleProxyAgent zs q GET consoles/agents
QueryDRSAdvice z q GET clusters/drs/advice,clusters/drs/advice/{uuid}
QueryDRSVmMigrationActivity z q GET clusters/drs/vm-migration-activities,clusters/drs/vm-migration-activities/{uuid}
QueryDatabaseBackup z q GET database-backups,database-backups/{uuid}
QueryDirectory zs q GET directories,directories/{uuid}
QueryDiskOffering zs q GET disk-offerings
QueryEip zs q GET eips,eips/{uuid}
QueryEmailMedia z q GET media/emails,media/emails/{uuid}
QueryEmailTriggerAction z q GET monitoring/trigger-actions/emails,monitoring/trigger-actions/emails/{uuid}
QueryEthernetVF z q GET pci-device/ethernet-vfs,pci-device/ethernet-vfs/{uuid}
QueryEventFromResourceStack z q GET cloudformation/event,cloudformation/event/{uuid}
QueryEventLog zs q GET eventlogs,eventlogs/{id}
QueryEventRecord z q GET zwatch/event-records
QueryEventRuleTemplate z q GET zwatch/monitortemplates/evenrules,zwatch/monitortemplates/evenrules/{uuid}
QueryEventSubscription z q GET zwatch/events/subscriptions,zwatch/events/subscriptions/{uuid}
QueryExponBlockVolume z q GET expon/block-volumes,expon/block-volumes/{uuid}
QueryExternalBackup z q GET externalbackup,externalbackup/{uuid}
QueryFcHbaDevice z q GET storage-devices/hba,storage-devices/hba/{uuid}
QueryFiberChannelLun z q GET storage-devices/fiber-channel/luns,storage-devices/fiber-channel/luns/{uuid}
QueryFiberChannelStorage z q GET storage-devices/fiber-channel/controllers,storage-devices/fiber-channel
,storage-devices/fiber-channel/controllers/{uuid}
QueryGCJob zs q GET gc-jobs,gc-jobs/{uuid}
QueryGlobalConfig zs q GET global-configurations
QueryGlobalConfigTemplate z q GET template-configurations/templates,template-configurations/templates/{uuid}
QueryGpuDevice z q GET gpu-device/gpu-devices,gpu-device/gpu-devices/{uuid}
QueryGuestToolsState z q GET guesttools,guesttools/state
QueryHost zs q GET hosts,hosts/{uuid}
QueryHostKernelInterface z q GET l3-networks/kernel-interfaces,l3-networks/kernel-interfaces/{uuid}
QueryHostNetworkBonding z q GET hosts/bondings,hosts/bondings/{uuid}
QueryHostNetworkInterface z q GET hosts/nics,hosts/nics/{uuid}
QueryHostNetworkInterfaceLldp zs q GET hostNetworkInterface/lldp/all,hostNetworkInterface/lldp/{interfaceUuid}
QueryHostOsCategory zs q GET hosts/os/category
QueryHostPhysicalCpu z q GET hosts/physical-cpu,hosts/physical-cpu/{uuid}
QueryHostPhysicalMemory z q GET hosts/physicalmemory,hosts/physicalmemory/{uuid}
QueryHostSchedulingRuleGroup z q GET query/host/schedulingRule/group
QueryIPSecConnection z q GET ipsec,ipsec/{uuid}
QueryImage zs q GET images,images/{uuid}
QueryImageCache zs q GET primary-storage/imagecache
QueryImagePackage z q GET image-packages,image-packages/{uuid}
QueryImageReplicationGroup z q GET image-replication-groups,image-replication-groups/{uuid}
QueryImageStoreBackupStorage z q GET backup-storage/image-store,backup-storage/image-store/{uuid}
QueryInstanceOffering zs q GET instance-offerings
QueryIpAddress zs q GET l3-networks/ip-address,l3-networks/ip-address/{uuid}
QueryIpRange zs q GET l3-networks/ip-ranges,l3-networks/ip-ranges/{uuid}
QueryIscsiLun z q GET storage-devices/iscsi/luns,storage-devices/iscsi/luns/{uuid}
QueryIscsiServer z q GET storage-devices/iscsi/servers,storage-devices/iscsi,storage-devices/iscsi/servers/{uuid}
QueryKeyProvider z q GET key-providers,key-providers/{uuid}
QueryKms z q GET key-providers/kms,key-providers/kms/{uuid}
QueryKvmHypervisorInfo zs q GET hosts/kvm/hypervisor/info
QueryL2Network zs q GET l2-networks,l2-networks/{uuid}
QueryL2PortGroupNetwork z q GET l2-networks/port-group,l2-networks/port-group/{uuid}
QueryL2VirtualSwitchNetwork z q GET l2-networks/virtual-switch,l2-networks/virtual-switch/{uuid}
QueryL2VlanNetwork zs q GET l2-networks/vlan,l2-networks/vlan/{uuid}
QueryL2VxlanNetwork zs q GET l2-networks/vxlan,l2-networks/vxlan/{uuid}
QueryL2VxlanNetworkPool zs q GET l2-networks/vxlan-pool,l2-networks/vxlan-pool/{uuid}
QueryL3Network zs q GET l3-networks,l3-networks/{uuid}
QueryLdapBinding s q GET ldap/bindings,ldap/bindings/{uuid}
QueryLdapServer zs q GET ldap/servers,ldap/servers/{uuid}
QueryLoadBalancer zs q GET load-balancers,load-balancers/{uuid}
QueryLoadBalancerListener zs q GET load-balancers/listeners,load-balancers/listeners/{uuid}
QueryLoadBalancerServerGroup zs q GET load-balancers/servergroups,load-balancers/servergroups/{uuid}
QueryLocalRaidController z q GET storage-devices/local-raid/controllers,storage-devices/local-raid/controllers/{uuid}
QueryLocalRaidPhysicalDrive z q GET storage-devices/local-raid/physical-drives
,storage-devices/local-raid/physical-drives/{uuid}
QueryLocalStorageResourceRef zs q GET primary-storage/local-storage/resource-refs
QueryLongJob zs q GET longjobs,longjobs/{uuid}
QueryManagementNode zs q GET management-nodes,management-nodes/{uuid}
QueryMdevDevice z q GET mdev-devices,mdev-devices/{uuid}
QueryMdevDeviceSpec z q GET mdev-device-specs,mdev-device-specs/{uuid}
QueryMedia z q GET media,media/{uuid}
QueryMetricDataHttpReceiver z q GET zwatch/metrics/httpreceivers,zwatch/metrics/httpreceivers/{uuid}
QueryMetricRuleTemplate z q GET zwatch/monitortemplates/metricrules,zwatch/monitortemplates/metricrules/{uuid}
QueryMetricTemplate z q GET zwatch/metrics/httpreceivers/templates,zwatch/metrics/httpreceivers/templates/{uuid}
QueryMonitorGroup z q GET zwatch/monitorgroups,zwatch/monitorgroups/{uuid}
QueryMonitorGroupAlarm z q GET zwatch/monitorgroups/alarms,zwatch/monitorgroups/alarms/{uuid}
QueryMonitorGroupEventSubscription z q GET zwatch/monitorgroups/subscriptions,zwatch/monitorgroups/subscriptions/{uuid}
QueryMonitorGroupInstance z q GET zwatch/monitorgroups/instances,zwatch/monitorgroups/instances/{uuid}
QueryMonitorGroupTemplateRef z q GET zwatch/monitorgroups/monitortemplates/refs
QueryMonitorTemplate z q GET zwatch/monitortemplates,zwatch/monitortemplates/{uuid}
QueryMonitorTrigger z q GET monitoring/triggers,monitoring/triggers/{uuid}
QueryMonitorTriggerAction z q GET monitoring/trigger-actions,monitoring/trigger-actions/{uuid}
QueryMttyDevice z q GET mtty-devices,mtty-devices/{uuid}
QueryNasFileSystem z q GET primary-storage/nas,primary-storage/nas/{uuid}
QueryNasMountTarget z q GET primary-storage/nas/mount,primary-storage/nas/mount/{uuid}
QueryNetworkServiceL3NetworkRef zs q GET l3-networks/network-services/refs
QueryNetworkServiceProvider zs q GET network-services/providers
QueryNkp z q GET key-providers/nkp,key-providers/nkp/{uuid}
QueryNvmeLun z q GET storage-devices/nvme/luns,storage-devices/nvme/luns/{uuid}
QueryNvmeServer z q GET storage-devices/nvme/servers,storage-devices/nvme/servers/{uuid}
QueryNvmeTarget z q GET storage-devices/nvme/controllers,storage-devices/nvme,storage-devices/nvme/controllers/{uuid}
QueryPciDevice z q GET pci-device/pci-devices,pci-device/pci-devices/{uuid}
QueryPciDeviceOffering z q GET pci-device/pci-device-offerings,pci-device/pci-device-offerings/{uuid}
QueryPciDevicePciDeviceOffering z q GET pci-devices/pci-devices/pci-device-offerings
QueryPciDeviceSpec z q GET pci-device-specs,pci-device-specs/{uuid}
QueryPhysicalDriveSelfTestHistory z q GET storage-devices/local-raid/physical-drives/self-test
,storage-devices/local-raid/physical-drives/{raidPhysicalDriveUuid}/self-test
QueryPolicy s q GET accounts/policies,accounts/policies/{uuid}
QueryPortForwardingRule zs q GET port-forwarding,port-forwarding/{uuid}
QueryPortGroup z q GET l3-networks/port-group,l3-networks/port-group/{uuid}
QueryPreconfigurationTemplate z q GET baremetal/preconfigurations,baremetal/preconfigurations/{uuid}
QueryPriceTable z q GET billings/price-tables
QueryPrimaryStorage zs q GET primary-storage
QueryQuota zs q GET accounts/quotas
QueryResourceAttributeKey z q GET resource-attributes/keys,resource-attributes/keys/{uuid}
QueryResourceAttributeValue z q GET resource-attributes
QueryResourceConfig zs q GET resource-configurations
QueryResourcePrice z q GET billings/prices,billing/prices/{uuid}
QueryResourceStack z q GET cloudformation/stack,cloudformation/stack/{uuid}
QueryRole zs q GET identities/roles,identities/roles/{uuid}
QueryRoleAccountRef z q GET identities/role-account-refs
QuerySNSApplicationEndpoint z q GET sns/application-endpoints,sns/application-endpoints/{uuid}
QuerySNSApplicationPlatform z q GET sns/application-platforms,sns/application-platforms/{uuid}
QuerySNSDingTalkAtPerson z q GET sns/application-endpoints/ding-talk/at-persons
,sns/application-endpoints/ding-talk/at-persons/{uuid}
QuerySNSDingTalkEndpoint z q GET sns/application-endpoints/ding-talk,sns/application-endpoints/ding-talk/{uuid}
QuerySNSEmailAddress z q GET sns/application-endpoints/emails/email-addresses
,sns/application-endpoints/emails/email-addresses/{uuid}
QuerySNSEmailEndpoint z q GET sns/application-endpoints/emails,sns/application-endpoints/emails/{uuid}
QuerySNSEmailPlatform z q GET sns/application-platforms/email,sns/application-platforms/email/{uuid}
QuerySNSEndpointThirdpartyAlertHistory z q GET zwatch/third-party/alert-publish-histories
QuerySNSFeiShuAtPerson z q GET sns/application-endpoints/feishu/at-persons
,sns/application-endpoints/feishu/at-persons/{uuid}
QuerySNSFeiShuEndpoint z q GET sns/application-endpoints/feishu,sns/application-endpoints/feishu/{uuid}
QuerySNSHttpEndpoint z q GET sns/application-endpoints/http,sns/application-endpoints/http/{uuid}
QuerySNSMicrosoftTeamsEndpoint z q GET sns/application-endpoints/microsoft-teams
,sns/application-endpoints/microsoft-teams/{uuid}
QuerySNSSmsEndpoint z q GET sns/sms-endpoints,sns/sms-endpoints/{uuid}
QuerySNSSnmpPlatform z q GET sns/application-platforms/snmp,sns/application-platforms/snmp/{uuid}
QuerySNSTextTemplate z q GET zwatch/alarms/sns/text-templates,zwatch/alarms/sns/text-templates/{uuid}
QuerySNSTopic z q GET sns/topics,sns/topics/{uuid}
QuerySNSTopicSubscriber z q GET sns/topics/subscribers,sns/topics/subscribers/{uuid}
QuerySNSWeComAtPerson z q GET sns/application-endpoints/we-com/at-persons
,sns/application-endpoints/we-com/at-persons/{uuid}
QuerySNSWeComEndpoint z q GET sns/application-endpoints/we-com,sns/application-endpoints/we-com/{uuid}
QuerySchedulerJob z q GET scheduler/jobs,scheduler/jobs/{uuid}
QuerySchedulerJobGroup z q GET scheduler/jobgroups,scheduler/jobgroups/{uuid}
QuerySchedulerJobHistory z q GET scheduler/job/history
QuerySchedulerTrigger z q GET scheduler/triggers,scheduler/triggers/{uuid}
QueryScsiLun z q GET storage-devices/scsi-lun/luns,storage-devices/scsi-lun/luns/{uuid}
QuerySdnController s q GET sdn-controllers,sdn-controllers/{uuid}
QuerySecurityGroup zs q GET security-groups,security-groups/{uuid}
QuerySecurityGroupRule zs q GET security-groups/rules,security-groups/rules/{uuid}
QuerySftpBackupStorage zs q GET backup-storage/sftp,backup-storage/sftp/{uuid}
QueryShareableVolumeVmInstanceRef z q GET volumes/vm-instances/refs
QuerySharedBlock z q GET sharedblock-group/sharedblocks,sharedblock-group,sharedblock-group/sharedblock/{uuid}
QuerySharedBlockGroupPrimaryStorage z q GET primary-storage/sharedblockgroup,primary-storage/sharedblockgroup/{uuid}
QuerySharedBlockGroupPrimaryStorageHostRef z q GET sharedblock-group/host-refs
,sharedblock-group/{primaryStorageUuid}/host-refs
QuerySharedResource s q GET accounts/resources
QuerySnmpAgent z q GET snmp/agent,snmp/agent/{uuid}
QuerySoftwarePackage z q GET software-package,software-package/{uuid}
QuerySshKeyPair zs q GET ssh-key-pair,ssh-key-pair/{uuid}
QueryStackTemplate z q GET cloudformation/template,cloudformation/template/{uuid}
QuerySystemTag zs q GET system-tags,system-tags/{uuid}
QueryTag z q GET tags,tags/{uuid}
QueryTemplateConfig z q GET template-configurations/configs,template-configurations/configs/{uuid}
QueryTemplatedVmInstance z q GET vm-instances/templatedVmInstance,vm-instances/templatedVmInstance/{uuid}
QueryThirdPartyAccountSourceBinding z q GET account-import/bindings
QueryThirdpartyAlert z q GET zwatch/third-party/alerts,zwatch/third-party/alerts/{uuid}
QueryThirdpartyPlatform z q GET zwatch/third-party/platforms,zwatch/third-party/platforms/{uuid}
QueryTpm z q GET tpms,tpms/{uuid}
QueryTwoFactorAuthentication z q GET twofactorauthentication/secrets,twofactorauthentication/secrets/{uuid}
QueryUplinkGroup z q GET l2-networks/virtual-switch/uplink-group,l2-networks/virtual-switch/uplink-group/{uuid}
QueryUsbDevice z q GET usb-device/usb-devices,usb-device/usb-devices/{uuid}
QueryUser s q GET accounts/users,accounts/users/{uuid}
QueryUserGroup s q GET accounts/groups
QueryUserTag zs q GET user-tags,user-tags/{uuid}
QueryVRouterOspfArea z q GET routerArea,routerArea/{uuid}
QueryVRouterOspfNetwork z q GET routerArea/network,routerArea/networkR/{uuid}
QueryVRouterRouteEntry z q GET vrouter-route-tables/route-entries,vrouter-route-tables/route-entries/{uuid}
QueryVRouterRouteTable z q GET vrouter-route-tables,vrouter-route-tables/{uuid}
QueryVip zs q GET vips,vips/{uuid}
QueryVirtualRouterOffering zs q GET instance-offerings/virtual-routers,instance-offerings/virtual-routers/{uuid}
QueryVirtualRouterVRouterRouteTableRef z q GET vrouter-route-tables/virtual-router-refs
QueryVirtualRouterVm zs q GET vm-instances/appliances/virtual-routers,vm-instances/appliances/virtual-routers/{uuid}
QueryVmCdRom zs q GET vm-instances/cdroms,vm-instances/cdroms/{uuid}
QueryVmCustomSpecification z q GET vm-custom-specifications
QueryVmInstance zs q GET vm-instances,vm-instances/{uuid}
QueryVmInstanceDeviceAddressArchive s q GET vmInstance/device/address/archive,vmInstance/device/address/archive/{uuid}
QueryVmInstanceDeviceAddressGroup s q GET vmInstance/device/address/group,vmInstance/device/address/group/{uuid}
QueryVmInstanceMdevDeviceSpecRef z q GET vm-instances/{vmInstanceUuid}/mdev-device-specs
,vm-instances/{vmInstanceUuid}/mdev-device-specs/{mdevSpecUuid}
QueryVmInstancePciDeviceSpecRef z q GET vm-instances/{vmInstanceUuid}/pci-device-specs
,vm-instances/{vmInstanceUuid}/pci-device-specs/{pciSpecUuid}
QueryVmInstanceResourceMetadataArchive z q GET vmInstance/resource/metadata/archive
,vmInstance/resource/metadata/archive/{uuid}
QueryVmInstanceResourceMetadataGroup z q GET vmInstance/resource/metadata/group
,vmInstance/resource/metadata/group/{uuid}
QueryVmNic zs q GET vm-instances/nics,vm-instances/nics/{uuid}
QueryVmNicInSecurityGroup zs q GET security-groups/vm-instances/nics
QueryVmNicSecurityPolicy zs q GET security-groups/nics/security-policy,security-groups/nics/{uuid}/security-policy
QueryVmPriorityConfig zs q GET vm-priority-config,vm-priority-config/{uuid}
QueryVmSchedHistory z q GET vm/sched-history,vm/sched-history/{vmInstanceUuid}
QueryVmSchedulingRule z q GET query/vm/schedulingRule
QueryVmSchedulingRuleGroup z q GET query/vm/schedulingRule/group
QueryVmUserDefinedXmlHookScript s q GET vm-instances/xml-hook-script,vm-instances/xml-hook-script/{uuid}
QueryVniRange zs q GET l2-networks/vxlan-pool/vni-range,l2-networks/vxlan-pool/vni-range/{uuid}
QueryVolume zs q GET volumes,volumes/{uuid}
QueryVolumeBackup z q GET volume-backups,volume-backups/{uuid}
QueryVolumeSnapshot zs q GET volume-snapshots,volume-snapshots/{uuid}
QueryVolumeSnapshotGroup zs q GET volume-snapshots/group,volume-snapshots/group/{uuid}
QueryVolumeSnapshotTree zs q GET volume-snapshots/trees,volume-snapshots/trees/{uuid}
QueryVpcHaGroup z q GET vpc/hagroups,vpc/hagroups/{uuid}
QueryVpcHaGroupNetworkServiceRef z q GET vpc/hagroups/networkserviceref/,vpc/hagroups/networkserviceref/{uuid}
QueryVpcRouter z q GET vpc/virtual-routers,vpc/virtual-routers/{uuid}
QueryVpcSnatState z q GET vpc/virtual-routers/networkservicestate/snat
,vpc/virtual-routers/networkservicestate/snat/{uuid}
QueryVtep zs q GET l2-networks/vteps,l2-networks/vteps/{uuid}
QueryWebhook zs q GET web-hooks,web-hooks/{uuid}
QueryXskyBlockVolume z q GET xksy/block-volumes,xsky/block-volumes/{uuid}
QueryZone zs q GET zones,zones/{uuid}
RebootBaremetalInstance z a PUT baremetal/instances/{uuid}/actions pxeBoot:bool
RebootVmInstance zs a PUT vm-instances/{uuid}/actions
ReclaimSpaceFromImageStore z a PUT backup-storage/image-store/{uuid}/actions
ReconnectBackupStorage zs a PUT backup-storage/{uuid}/actions
ReconnectBaremetalPxeServer z a PUT baremetal/pxeservers/{uuid}/actions
ReconnectConsoleProxyAgent zs a PUT consoles/agents agentUuids:[]
ReconnectHost zs a PUT hosts/{uuid}/actions
ReconnectIPsecConnection z a PUT ipsec/{uuid}/actions
ReconnectImageStoreBackupStorage z a PUT backup-storage/image-store/{uuid}/actions
ReconnectPrimaryStorage zs a PUT primary-storage/{uuid}/actions
ReconnectSftpBackupStorage zs a PUT backup-storage/sftp/{uuid}/actions
ReconnectVirtualRouter zs a PUT vm-instances/appliances/virtual-routers/{vmInstanceUuid}/actions
RecoverBackupFromImageStoreBackupStorage z a PUT volume-backups/{uuid}/actions srcBackupStorageUuid!
 dstBackupStorageUuid!
RecoverBaremetalInstance z a PUT baremetal/instances/{uuid}/actions
RecoverDataVolume zs a PUT volumes/{uuid}/actions
RecoverDatabaseFromBackup z a PUT database-backups/actions uuid backupStorageUrl backupInstallPath mysqlRootPassword!
RecoverImage zs a PUT images/{imageUuid}/actions backupStorageUuids:[]
RecoverVmBackupFromImageStoreBackupStorage z a PUT vm-backups/{groupUuid}/actions srcBackupStorageUuid!
 dstBackupStorageUuid!
RecoverVmInstance zs a PUT vm-instances/{uuid}/actions
RecoveryImageFromImageStoreBackupStorage z a PUT backup-storage/{uuid}/actions srcBackupStorageUuid!
 dstBackupStorageUuid! name! description
RefreshCaptcha zs w GET captcha/refresh uuid!
RefreshFiberChannelStorage z a POST storage-devices/fiber-channel/controllers zoneUuid! scsiLunUuids:[]
RefreshGuestOsMetadata s a PUT guest-os/metadata/actions
RefreshIscsiServer z a POST storage-devices/iscsi/servers/{uuid}
RefreshLoadBalancer zs a PUT load-balancers/{uuid}/actions
RefreshLocalRaid z a PUT storage-devices/local-raid/actions hostUuid!
RefreshNvmeServer z a PUT storage-devices/nvme/servers/{uuid}/actions
RefreshNvmeTarget z a POST storage-devices/nvme/controllers zoneUuid! nvmeLunUuids:[]
RefreshSearchIndexes zs w GET search/indexes/refresh
RefreshSharedblockDeviceCapacity z a POST primary-storage/sharedblockgroup/{sharedBlockGroupUuid}/sharedblocks/{uuid}
RegisterVmInstanceFromMetadata z a POST vm-instances/metadata/register metadataPath! primaryStorageUuid! zoneUuid!
 clusterUuid! hostUuid name
ReimageVmInstance zs a PUT vm-instances/{vmInstanceUuid}/actions
RekeyKeyProviderRefs z a PUT key-providers/{providerUuid}/rekey refIds:[int] resourceUuids:[] resourceType rekeyAll:bool
ReloadElaboration zs a PUT errorcode/actions
ReloadExternalService zs a PUT external/services name!
RemoveAccessControlListEntry zs a DELETE access-control-lists/{aclUuid}/ipentries/{uuid}
RemoveAccessControlListFromLoadBalancer zs a DELETE load-balancers/listeners/{listenerUuid}/access-control-lists
 aclUuids!:[] serverGroupUuids:[]
RemoveAccountFromGroup z a DELETE account-groups/{groupUuid}/accounts accountUuids!:[]
RemoveActionFromAlarm z a DELETE zwatch/alarms/{alarmUuid}/actions/{actionUuid}
RemoveActionFromEventSubscription z a DELETE zwatch/events/subscriptions/{subscriptionUuid}/actions/{actionUuid}
RemoveBackendServerFromServerGroup zs a PUT load-balancers/servergroups/{serverGroupUuid}/backendservers/actions
 vmNicUuids:[] serverIps:[]
RemoveCertificateFromLoadBalancerListener zs a DELETE load-balancers/listeners/{listenerUuid}/certificate
 certificateUuid!
RemoveDnsFromL3Network zs a DELETE l3-networks/{l3NetworkUuid}/dns/{dns}
RemoveDnsFromVpcRouter z a DELETE vpc/virtual-routers/{uuid}/dns dns!
RemoveHostRouteFromL3Network zs a DELETE l3-networks/{l3NetworkUuid}/hostroute prefix!
RemoveInstanceFromMonitorGroup z a DELETE zwatch/monitorgroups/{groupUuid}/actions/{instanceUuid}
RemoveLabelFromAlarm z a DELETE zwatch/alarms/labels/{uuid}
RemoveLabelFromEventSubscription z a DELETE zwatch/events/subscriptions/labels/{uuid}
RemoveMdevDeviceSpecFromVmInstance z a DELETE mdev-device-specs/{mdevSpecUuid}/vm-instances/{vmInstanceUuid}
RemoveMonFromCephBackupStorage zs a DELETE backup-storage/ceph/{uuid}/mons monHostnames!:[]
RemoveMonFromCephPrimaryStorage zs a DELETE primary-storage/ceph/{uuid}/mons monHostnames!:[]
RemovePciDeviceSpecFromVmInstance z a DELETE pci-device-specs/{pciSpecUuid}/vm-instances/{vmInstanceUuid}
RemovePolicyStatementsFromRole s a DELETE identities/roles/{uuid}/policy-statements policyStatementUuids!:[]
RemoveRemoteCidrsFromIPsecConnection z a DELETE ipsec/{uuid}/remote-cidrs peerCidrs!:[]
RemoveResourcesFromDirectory zs a DELETE remove/resources/directory resourceUuids!:[] directoryUuid!
RemoveSNSDingTalkAtPerson z a DELETE sns/application-endpoints/ding-talk/{endpointUuid}/at-persons/{phoneNumber}
RemoveSNSFeiShuAtPerson z a DELETE sns/application-endpoints/feishu/{endpointUuid}/at-persons/{userId}
RemoveSNSSmsReceiver z a DELETE sns/sms-endpoints/{endpointUuid}/receivers/{phoneNumber}
RemoveSNSWeComAtPerson z a DELETE sns/application-endpoints/we-com/{endpointUuid}/at-persons/{userId}
RemoveSchedulerJobFromSchedulerTrigger z a DELETE
 scheduler/jobs/{schedulerJobUuid}/scheduler/triggers/{schedulerTriggerUuid}
RemoveSchedulerJobGroupFromSchedulerTrigger z a DELETE
 scheduler/jobgroups/{schedulerJobGroupUuid}/scheduler/triggers/{schedulerTriggerUuid}
RemoveSchedulerJobsFromSchedulerJobGroup z a DELETE scheduler/jobgroups/{schedulerJobGroupUuid}/job
 schedulerJobUuids!:[]
RemoveSdnController s a DELETE sdn-controllers/{uuid}
RemoveServerGroupFromLoadBalancerListener zs a DELETE load-balancers/listeners/{listenerUuid}/servergroups
 serverGroupUuid!
RemoveTpm z a DELETE tpms tpmUuid vmInstanceUuid
RemoveUserFromGroup s a DELETE accounts/groups/{groupUuid}/users/{userUuid}
RemoveVRouterNetworksFromOspfArea z a DELETE routerArea/networks uuids!:[]
RemoveVmFromAffinityGroup z a DELETE affinity-groups/{affinityGroupUuid}/vm-instances uuid!
RemoveVmNicFromLoadBalancer zs a DELETE load-balancers/listeners/{listenerUuid}/vm-instances/nics vmNicUuids!:[]
RemoveVmSchedulingRule z a DELETE vmSchedulingRule/{uuid}
RenewSession zs a PUT accounts/sessions/{sessionUuid}/renew duration:int
RequestConsoleAccess zs a POST consoles vmInstanceUuid!
RerunLongJob zs a PUT longjobs/{uuid}/actions
ResetGlobalConfig zs a PUT global-configurations/actions
ResetTemplateConfig z a PUT template-configurations/{templateUuid}/actions
ResetTwoFactorAuthenticationSecret z a PUT twofactorauthentication/secrets name! password! captchaUuid verifyCode
 type!=account|ldap
ResizeDataVolume z a PUT volumes/data/resize/{uuid}/actions size!:int
ResizeRootVolume z a PUT volumes/resize/{uuid}/actions vmInstanceUuid size!:int
RestartResourceStack z a PUT cloudformation/stack/{uuid}/actions
RestoreNkp z a PUT key-providers/nkp/actions contentBase64! password
ResumeLongJob zs a PUT longjobs/{uuid}/actions
ResumeVmInstance zs a PUT vm-instances/{uuid}/actions
RevertTemplateConfig z a PUT template-configurations/{templateUuid}/actions
RevertVmFromSnapshotGroup zs a PUT volume-snapshots/group/{uuid}/actions
RevertVmFromVmBackup z a PUT vm-backups/{groupUuid}/actions backupStorageUuid strategy=InstantStart|JustCreate
|CreateStopped
RevertVolumeFromSnapshot zs a PUT volume-snapshots/{uuid}/actions
RevertVolumeFromVolumeBackup z a PUT volume-backups/{uuid}/actions backupStorageUuid
RevokeMonitorTemplateFromMonitorGroup z a DELETE zwatch/monitortemplates/{templateUuid}/monitorgroups/{groupUuid}
RevokeResourceSharing zs a PUT accounts/resources/actions resourceUuids!:[] accountUuids:[] toPublic:bool all:bool
RevokeResourceSharingToGroup z a PUT account-groups/resources/actions resourceUuids!:[] groupUuid!
RunSchedulerTrigger z a PUT scheduler/triggers/{uuid}/actions jobUuids:[]
SNSDingTalkTestConnection z a POST sns/application-endpoints/ding-talk/test-connection url atAll:bool
 atPersonPhoneNumbers:[] secret testMsg! endpointUuid
SNSEmailTestConnection z a POST sns/application-endpoints/email/test-connection emails:[] platformUuid endpointUuid
 subject text
SNSFeiShuTestConnection z a POST sns/application-endpoints/feishu/test-connection url atAll:bool atPersonUserIds:[]
 secret testMsg! endpointUuid
SNSHttpTestConnection z a POST sns/application-endpoints/http/test-connection url username password endpointUuid
SNSMicrosoftTeamsTestConnection z a POST sns/application-endpoints/microsoft-teams/test-connection url testMsg!
 endpointUuid
SNSSnmpTestConnection z a POST sns/application-endpoints/snmp/test-connection platformUuid endpointUuid
SNSWeComTestConnection z a POST sns/application-endpoints/we-com/test-connection url atAll:bool atPersonUserIds:[]
 testMsg! endpointUuid
ScanVmInstanceMetadataFromPrimaryStorage z r GET primary-storage/vm-instances/metadata/scan uuid!
SelfTestLocalRaid z a PUT storage-devices/local-raid/physical-drives/{uuid}/actions
SetImageBootMode zs a PUT images/{uuid}/actions bootMode!=Legacy|UEFI|UEFI_WITH_CSM
SetImageQga z a PUT images/{uuid}/actions enable!:bool
SetImageSecurityLevel z a PUT images/{uuid}/actions securityLevel
SetImageStoreBackupStorageQuota z a PUT backup-storage/image-store/actions uuids:[] maxCapacity!:int
SetIpOnHostNetworkBonding z a POST hosts/bondings/{bondingUuid}/ip ipAddress netmask
SetIpOnHostNetworkInterface z a POST hosts/nics/{interfaceUuid}/ip ipAddress netmask
SetL3NetworkMtu zs a POST l3-networks/{l3NetworkUuid}/mtu mtu!:int
SetL3NetworkRouterInterfaceIp zs a POST l3-networks/{l3NetworkUuid}/router-interface-ip routerInterfaceIp!
SetNicQos z a PUT vm-instances/{uuid}/actions outboundBandwidth:int inboundBandwidth:int
SetServiceTypeOnHostNetworkBonding z a POST hosts/bondings/service-types bondingUuids!:[] vlanIds:[int]
 serviceTypes:[]=ManagementNetwork|TenantNetwork|StorageNetwork|BackupNetwork|MigrationNetwork
SetServiceTypeOnHostNetworkInterface z a POST hosts/nics/service-types interfaceUuids!:[] vlanIds:[int]
 serviceTypes:[]=ManagementNetwork|TenantNetwork|StorageNetwork|BackupNetwork|MigrationNetwork
SetVRouterRouterId z a POST routerArea/{vRouterUuid}/routerid routerId!
SetVipQos z a PUT vips/{uuid}/actions port:int outboundBandwidth:int inboundBandwidth:int
SetVmBootMode zs a PUT vm-instances/{uuid}/actions bootMode!
SetVmBootOrder zs a PUT vm-instances/{uuid}/actions bootOrder:[]=CdRom|HardDisk|Network
SetVmBootVolume zs a PUT vm-instances/{vmInstanceUuid}/actions volumeUuid!
SetVmCleanTraffic z a PUT vm-instances/{uuid}/actions enable!:bool
SetVmClockTrack zs a PUT vm-instances/{uuid}/actions track!=guest|host syncAfterVMResume:bool intervalInSeconds:int=0|60
|600|1800|3600|7200|21600|43200|86400
SetVmConsoleMode z a PUT vm-instances/{uuid}/actions mode!
SetVmConsolePassword zs a PUT vm-instances/{uuid}/actions consolePassword!
SetVmDns z a PUT vm-instances/{vmInstanceUuid}/actions vmNicUuid dnsList!:[] ipVersion:int=4|6
SetVmEmulatorPinning z a PUT vm-instances/{uuid}/actions emulatorPinning!
SetVmHostname zs a PUT vm-instances/{uuid}/actions hostname!
SetVmInstanceDefaultCdRom zs a PUT vm-instances/{vmInstanceUuid}/cdroms/{uuid}/actions
SetVmInstanceHaLevel z a POST vm-instances/{uuid}/ha-levels level!=NeverStop|OnHostFailure|FaultTolerance
SetVmMonitorNumber z a PUT vm-instances/{uuid}/actions monitorNumber!:int
SetVmNicSecurityGroup zs a PUT security-groups/nics/{vmNicUuid}/actions refs!:[dict]
SetVmNuma z a PUT vm-instances/{uuid}/actions enable!:bool
SetVmQga z a PUT vm-instances/{uuid}/actions enable!:bool
SetVmQxlMemory zs a PUT vm-instances/{uuid}/actions ram:int vram:int vgamem:int
SetVmRDP z a PUT vm-instances/{uuid}/actions enable!:bool
SetVmSecurityLevel z a PUT vm-instances/{uuid}/actions securityLevel
SetVmSoundType zs a PUT vm-instances/{uuid}/actions soundType!=ac97|ich6
SetVmSshKey zs a PUT vm-instances/{uuid}/actions SshKey!
SetVmStaticIp zs a PUT vm-instances/{vmInstanceUuid}/actions l3NetworkUuid! ip ip6 netmask gateway ipv6Gateway
 ipv6Prefix
SetVmUsbRedirect z a PUT vm-instances/{uuid}/actions enable!:bool
SetVmUserDefinedXml z a PUT vm-instances/{vmInstanceUuid}/actions xmlBase64! tagUuids:[]
SetVmUserDefinedXmlHookScript z a PUT vm-instances/{vmInstanceUuid}/actions xmlHookScriptBase64! tagUuids:[]
SetVolumeIoThreadPin z a PUT volumes/{uuid}/actions vmUuid! pin! ioThreadId!:int
SetVolumeQos z a PUT volumes/{uuid}/actions mode volumeBandwidth:int readBandwidth:int writeBandwidth:int
 totalBandwidth:int readIOPS:int writeIOPS:int totalIOPS:int
SetVpcVRouterDistributedRoutingEnabled z a POST vpc/virtual-routers/{uuid}/distributed-routing stateEvent!=enable
|disable
SetVpcVRouterNetworkServiceState z a POST vpc/virtual-routers/{uuid}/networkservicestate networkService!=SNAT
 state!=enable|disable l3NetworkUuid
ShareResource zs a PUT accounts/resources/actions resourceUuids!:[] accountUuids:[] toPublic:bool permission
ShareResourceToGroup z a PUT account-groups/resources/actions resourceUuids!:[] groupUuid!
ShrinkVolumeSnapshot zs a PUT volume-snapshots/shrink/{uuid}/actions
ShutdownHost zs a PUT hosts/power/{uuid}/actions returnEarly:bool force:bool method=AUTO|AGENT|IPMI
StartBaremetalInstance z a PUT baremetal/instances/{uuid}/actions pxeBoot:bool
StartBaremetalPxeServer z a PUT baremetal/pxeservers/{uuid}/actions
StartSnmpAgent z a PUT snmp/agent/actions uuid!
StartVmInstance zs a PUT vm-instances/{uuid}/actions clusterUuid hostUuid
StopBaremetalInstance z a PUT baremetal/instances/{uuid}/actions type=grace|cold
StopBaremetalPxeServer z a PUT baremetal/pxeservers/{uuid}/actions
StopSnmpAgent z a PUT snmp/agent/actions uuid!
StopVmInstance zs a PUT vm-instances/{uuid}/actions type=grace|cold stopHA=true|false
SubmitLongJob zs a POST longjobs name description jobName! jobData! targetResourceUuid tagUuids:[]
SubscribeEvent z a POST zwatch/events/subscriptions name namespace! eventName! actions:[dict] emergencyLevel=Emergent
|Important|Normal tagUuids:[]
SubscribeSNSTopic z a POST sns/topics/{topicUuid}/endpoints/{endpointUuid}
SyncAccountsFromLdapServer z a PUT ldap/servers/{uuid}/actions createAccountStrategy deleteAccountStrategy
SyncBackupFromImageStoreBackupStorage z a PUT volume-backups/{uuid}/actions srcBackupStorageUuid! dstBackupStorageUuid!
SyncChronyServers z a PUT zops/chrony/actions
SyncDatabaseBackup z a PUT database-backups/imageStore/{imageStoreUuid}/actions
SyncDatabaseBackupFromImageStoreBackupStorage z a PUT database-backups/{uuid}/actions srcBackupStorageUuid!
 dstBackupStorageUuid!
SyncImage z a PUT backup-storage/image-store/{imageStoreUuid}/actions
SyncImageFromImageStoreBackupStorage z a PUT images/{uuid}/actions srcBackupStorageUuid! dstBackupStorageUuid! name!
 description
SyncImageSize zs a PUT images/{uuid}/actions
SyncPrimaryStorageCapacity zs a PUT primary-storage/{primaryStorageUuid}/actions
SyncVmBackup z a PUT vm-backups/imageStore/{imageStoreUuid}/actions
SyncVmBackupFromImageStoreBackupStorage z a PUT vm-backups/{groupUuid}/actions srcBackupStorageUuid!
 dstBackupStorageUuid!
SyncVmClock z a PUT vm-instances/{uuid}/actions
SyncVolumeBackup z a PUT volume-backups/imageStore/{imageStoreUuid}/actions
SyncVolumeSize zs a PUT volumes/{uuid}/actions
TakeVmConsoleScreenshot zs a PUT vm-instances/{uuid}/actions
TakeoverPrimaryStorage z a PUT primary-storage/{uuid}/takeover dryRun:bool
TriggerGCJob zs a PUT gc-jobs/{uuid}/actions
UndoSnapshotCreation zs a PUT volumes/{uuid}/actions snapShotUuid!
UnexportNbdVolumes z a POST cbt-task/unexportvolume volumeUuids!:[] vmInstanceUuid!
UngenerateMdevDevices z a PUT pci-devices/{pciDeviceUuid}/actions
UngenerateSeMdevDevices z a PUT mtty-devices/{mttyDeviceUuid}/actions
UngenerateSriovPciDevices z a PUT pci-devices/{pciDeviceUuid}/actions
UngroupVolumeSnapshotGroup zs a DELETE volume-snapshots/ungroup/{uuid}
UninstallSoftwarePackage z a PUT software-package/{uuid}/actions
UnlockIdentity z w GET login/control/unlock resourceName! loginType!
UnsubscribeEvent z a DELETE zwatch/events/subscriptions/{uuid}
UnsubscribeSNSTopic z a DELETE sns/topics/{topicUuid}/endpoints/{endpointUuid}
UpdateAccessControlRule z a PUT login-control/access-control/rules/{uuid}/actions name description rule
UpdateAccount zs a PUT accounts/{uuid} password name description oldPassword state
UpdateAccountGroup z a PUT account-groups/{uuid}/actions name description
UpdateActiveAlarmTemplate z a PUT zwatch/activealarms/templates/{uuid}/actions alarmName
 comparisonOperator=GreaterThanOrEqualTo|GreaterThan|LessThan|LessThanOrEqualTo period:int threshold:float
 repeatInterval:int repeatCount:int emergencyLevel=Emergent|Important|Normal labels
UpdateAffinityGroup z a PUT affinity-groups/{uuid}/actions name description
UpdateAlarm z a PUT zwatch/alarms/{uuid}/actions name description comparisonOperator=GreaterThanOrEqualTo|GreaterThan
|LessThan|LessThanOrEqualTo period:int threshold:float repeatInterval:int repeatCount:int enableRecovery:bool
 emergencyLevel=Emergent|Important|Normal actions:[dict]
UpdateAlarmData z a PUT zwatch/alarm-histories/actions dataUuid dataStartTime:int dataEndTime:int updateMode! readStatus
UpdateAlarmLabel z a PUT zwatch/alarms/labels/{uuid}/actions key! value! operator!=Regex|Equal
UpdateAlertDataAck z a PUT zwatch/alert-histories/acknowledgments/{alertDataUuid}/actions resumeAlert:bool
UpdateAliyunSmsSNSTextTemplate z a PUT zwatch/alarms/sns/text-templates/{uuid}/actions alarmTemplateCode sign
 eventTemplateCode eventTemplate name description subject recoverySubject template recoveryTemplate defaultTemplate:bool
UpdateAtPersonOfAtDingTalkEndpoint z a PUT sns/application-endpoints/ding-talk/at-persons/{uuid}/actions endpointUuid!
 phoneNumber remark
UpdateAtPersonOfAtFeiShuEndpoint z a PUT sns/application-endpoints/feishu/at-persons/{uuid}/actions endpointUuid! userId
 remark
UpdateAtPersonOfAtWeComEndpoint z a PUT sns/application-endpoints/we-com/at-persons/{uuid}/actions endpointUuid! userId
 remark
UpdateAutoScalingGroup z a PUT autoscaling/groups/{uuid}/actions name description minResourceSize:int
 maxResourceSize:int removalPolicy
UpdateAutoScalingGroupAddingNewInstanceRule z a PUT autoscaling/rules/adding-new-instance/{uuid}/actions adjustmentType
 adjustmentValue:int name description cooldown:int
UpdateAutoScalingGroupInstance z a PUT autoscaling/groups/instances/{instanceUuid}/actions groupUuid! protectionStrategy
UpdateAutoScalingGroupRemovalInstanceRule z a PUT autoscaling/rules/removal-instance/{uuid}/actions adjustmentType
 adjustmentValue:int removalPolicy name description cooldown:int
UpdateAutoScalingRule z a PUT autoscaling/rules/{uuid}/actions name description cooldown:int
UpdateAutoScalingVmTemplate z a PUT autoscaling/vmtemplate/{uuid}/actions name description vmInstanceName
 vmInstanceDescription vmInstanceOfferingUuid imageUuid vmInstanceClusterUuid hostUuid
UpdateBackupStorage zs a PUT backup-storage/{uuid}/actions name description
UpdateBaremetalChassis z a PUT baremetal/chassis/{uuid}/actions name description ipmiAddress ipmiPort:int ipmiUsername
 ipmiPassword
UpdateBaremetalInstance z a PUT baremetal/instances/{uuid}/actions name description password platform=Linux
UpdateBaremetalPxeServer z a PUT baremetal/pxeservers/{uuid}/actions name description dhcpRangeBegin dhcpRangeEnd
 dhcpRangeNetmask
UpdateBlockPrimaryStorage z a PUT primary-storage/block/{uuid}/actions vendorName metadata
UpdateBlockVolume z a PUT block-volumes/{uuid}/actions name description
UpdateBonding z a PUT hosts/bondings/{uuid}/actions slaveUuids:[] slaveNames:[] type mode xmitHashPolicy description
UpdateCasClient z a POST update/cas/client uuid! description name casServerLoginUrl casServerUrlPrefix serverName
 usernameProperty
UpdateCephBackupStorageMon zs a PUT backup-storage/ceph/mons/{monUuid}/actions hostname sshUsername sshPassword
 sshPort:int monPort:int
UpdateCephPrimaryStorageMon zs a PUT primary-storage/ceph/mons/{monUuid}/actions hostname sshUsername sshPassword
 sshPort:int monPort:int
UpdateCephPrimaryStoragePool zs a PUT primary-storage/ceph/pools/{uuid}/actions aliasName description
UpdateCertificate zs a PUT certificates/{uuid}/actions name description tagUuids:[]
UpdateChronyServers z a PUT zops/chrony/actions internalHostnames:[] externalHostnames:[]
UpdateCluster zs a PUT clusters/{uuid}/actions name description
UpdateClusterDRS z a PUT clusters/drs/{uuid}/actions name description automationLevel thresholds:[dict]
 thresholdDuration:int state=Enabled|Disabled
UpdateClusterOS zs a PUT clusters/{uuid}/actions excludePackages:[] updatePackages:[] releaseVersion tagUuids:[]
UpdateConsoleProxyAgent zs a PUT consoles/agents/{uuid}/actions consoleProxyOverriddenIp! consoleProxyPort:int
UpdateDirectory zs a PUT update/directory uuid! name!
UpdateDiskOffering zs a PUT disk-offerings/{uuid}/actions name description
UpdateEip zs a PUT eips/{uuid}/actions name description
UpdateEmailAddressOfSNSEmailEndpoint z a PUT sns/application-endpoints/emails/email-addresses emailAddressUuid!
 endpointUuid! emailAddress!
UpdateEmailMedia z a PUT media/emails/{uuid} name description smtpServer smtpPort:int username password
UpdateEmailMonitorTriggerAction z a PUT monitoring/trigger-actions/emails/{uuid} name email mediaUuid description
UpdateEventData z a PUT zwatch/events/actions dataUuid dataStartTime:int dataEndTime:int updateMode! readStatus
UpdateEventRuleTemplate z a PUT zwatch/monitortemplates/evenrules/{uuid}/actions name emergencyLevel=Emergent|Important
|Normal labels:[dict]
UpdateEventSubscriptionLabel z a PUT zwatch/events/subscriptions/labels/{uuid}/actions key! value! operator!=Regex|Equal
UpdateExternalPrimaryStorage zs a PUT primary-storage/addon/{uuid}/actions config defaultProtocol=Vhost|Scsi|Nvme|CBD
|file name description url
UpdateFactoryModeState z a PUT management-nodes/actions factoryModeState!:bool
UpdateGlobalConfig zs a PUT global-configurations/{category}/{name}/actions value
UpdateGuestToolsState z w PUT vm-instances/{vmInstanceUuid}/guesttools-state
UpdateHaStrategyCondition z a PUT ha-strategy-condition/{uuid}/actions name state
UpdateHost zs a PUT hosts/{uuid}/actions name description managementIp
UpdateHostIommuState z a PUT pci-device/hosts/{uuid}/actions state!=Enabled|Disabled
UpdateHostIpmi zs a PUT hosts/ipmi/{uuid}/actions ipmiAddress ipmiUsername ipmiPassword ipmiPort:int
UpdateHostIscsiInitiatorName z a PUT hosts/kvm/iscsiInitiatorName/{uuid}/actions iscsiInitiatorName!
UpdateHostKernelInterface z a PUT l3-networks/kernel-interfaces/{uuid}/actions name description requiredIp netmask
 trafficTypes:[]
UpdateHostNetworkInterface z a POST hosts/nics/{interfaceUuid}/actions description!
UpdateHostNqn z a PUT hosts/nqn/{uuid}/actions nqn!
UpdateHostSchedulingRuleGroup z a PUT hostSchedulingRuleGroup/{uuid} name description
UpdateHostname z a PUT hosts/hostname/{uuid}/actions hostname!
UpdateIPsecConnection z a PUT ipsec/{uuid} name description
UpdateImage zs a PUT images/{uuid}/actions name description guestOsType mediaType=RootVolumeTemplate|DataVolumeTemplate
|ISO format=raw|qcow2|iso platform=Linux|Windows|Other|Paravirtualization|WindowsVirtio architecture=x86_64|aarch64
|mips64el|loongarch64 virtio:bool system:bool
UpdateImagePackage z a PUT image-packages/{uuid} name description
UpdateImageStoreBackupStorage z a PUT backup-storage/image-store/{uuid}/actions username password hostname sshPort:int
 name description
UpdateInstanceOffering zs a PUT instance-offerings/{uuid}/actions name description allocatorStrategy
UpdateIpRange zs a PUT l3-networks/ip-ranges/{uuid}/actions name description
UpdateIscsiServer z a PUT storage-devices/iscsi/servers/{uuid}/actions name chapUserName chapUserPassword state=Enabled
|Disabled
UpdateKVMHost zs a PUT hosts/kvm/{uuid}/actions username password sshPort:int name description managementIp
UpdateKms z a PUT key-providers/kms/{uuid}/actions endpoint port:int kmipVersion username password description
UpdateL2Network zs a PUT l2-networks/{uuid}/actions name description
UpdateL2NetworkVirtualNetworkId z a PUT l2-networks/{uuid}/actions virtualNetworkId!:int
UpdateL3Network zs a PUT l3-networks/{uuid}/actions name description dnsDomain category=Public|Private|System
 system:bool
UpdateLdapServer zs a PUT ldap/servers/{ldapServerUuid} name description url base username password encryption
 serverType usernameProperty filter syncCreatedAccountStrategy syncDeletedAccountStrategy
UpdateLoadBalancer zs a PUT load-balancers/{uuid}/actions name description tagUuids:[]
UpdateLoadBalancerListener zs a PUT load-balancers/listeners/{uuid} name description
UpdateLoadBalancerServerGroup zs a PUT load-balancers/servergroups/{uuid}/actions name description
UpdateLogConfiguration z a PUT log/configurations configId!:int name description
UpdateLongJob zs a PUT longjobs/{uuid}/actions name description
UpdateMdevDevice z a PUT mdev-devices/{uuid}/actions name description state=Enabled|Disabled
UpdateMdevDeviceSpec z a PUT mdev-device-specs/{uuid}/actions name description state=Enabled|Disabled
UpdateMetricRuleTemplate z a PUT zwatch/monitortemplates/metricrules/{uuid}/actions name
 comparisonOperator=GreaterThanOrEqualTo|GreaterThan|LessThan|LessThanOrEqualTo period:int threshold:float
 repeatInterval:int labels:[dict] repeatCount:int enableRecovery:bool emergencyLevel=Emergent|Important|Normal
UpdateMonitorGroup z a PUT zwatch/monitorgroups/{uuid}/actions name description actions:[dict] stateEvent=enable|disable
UpdateMonitorTemplate z a PUT zwatch/monitortemplates/{uuid}/actions name description
UpdateMonitorTrigger z a PUT monitoring/triggers/{uuid}/actions name description expression duration:int
UpdateNasFileSystem z a PUT primary-storage/nas/{uuid}/actions name description
UpdateNasMountTarget z a PUT primary-storage/nas/mount/{uuid}/actions name description
UpdateNkp z a PUT key-providers/nkp/{uuid}/actions description
UpdateNvmeServer z a PUT storage-devices/nvme/servers/{uuid}/actions name
UpdateOAuthClient z a POST update/oauth2/client uuid! name description clientId clientSecret authorizationUrl tokenUrl
 redirectUrl userinfoUrl logoutUrl usernameProperty
UpdatePciDevice z a PUT pci-device/pci-devices/{uuid}/actions state=Enabled|Disabled passThroughState=Enabled|Available
 name description metaData
UpdatePciDeviceSpec z a PUT pci-device-specs/{uuid}/actions name description romContent romVersion abandonSpecRom:bool
 state=Enabled|Disabled
UpdatePortForwardingRule zs a PUT port-forwarding/{uuid}/actions name description
UpdatePortGroup z a PUT l3-networks/port-group/{uuid}/actions name description dnsDomain category=Public|Private|System
UpdatePreconfigurationTemplate z a PUT baremetal/preconfigurations/{uuid}/actions name description distribution type
 content
UpdatePriceTable z a PUT billings/price-tables/{uuid}/actions name description
UpdatePrimaryStorage zs a PUT primary-storage/{uuid}/actions name description url
UpdatePriorityConfig zs a PUT vm-priority-config/{uuid}/actions cpuShares:int oomScoreAdj:int
UpdateQuota zs a PUT accounts/quotas/actions identityUuid! name! value!:int
UpdateResourceAttributeKey z a PUT resource-attributes/{uuid}/actions name description resourceTypes:[]
 createConstraints:[dict] updateConstraints:[dict] deleteConstraintIds:[int]
UpdateResourceConfig zs a PUT resource-configurations/{category}/{name}/{resourceUuid}/actions value!
UpdateResourceConfigs zs a POST resource-configurations/{resourceUuid}/resource-configs/actions resourceConfigs!:[dict]
UpdateResourcePrice z a PUT billings/prices/{uuid}/actions endDateInLong:int setEndDateInLongBaseOnCurrentTime:bool
UpdateResourceStack z a PUT cloudformation/stack/{uuid}/actions name description rollback:bool templateContent
 parameters
UpdateRole zs a PUT identities/roles/{uuid}/actions name description createPolicies:[dict]
 clearPoliciesBeforeUpdate:bool deletePolicies:[dict] statements:[dict]
UpdateSNSApplicationEndpoint z a PUT sns/application-endpoints/{uuid}/actions name description platformUuid
UpdateSNSApplicationPlatform z a PUT sns/application-platforms/{uuid}/actions name description
UpdateSNSDingTalkEndpoint z a PUT sns/application-endpoints/ding-talk/{uuid}/actions url atAll:bool secret name
 description platformUuid
UpdateSNSFeiShuEndpoint z a PUT sns/application-endpoints/feishu/{uuid}/actions url atAll:bool secret name description
 platformUuid
UpdateSNSHttpEndpoint z a PUT sns/application-endpoints/http/{uuid}/actions url username password name description
 platformUuid
UpdateSNSMicrosoftTeamsEndpoint z a PUT sns/application-endpoints/microsoft-teams/{uuid}/actions url name description
 platformUuid
UpdateSNSSnmpPlatform z a PUT sns/application-platforms/snmp/{uuid} snmpAddress! snmpPort!:int name description
UpdateSNSTextTemplate z a PUT zwatch/alarms/sns/text-templates/{uuid}/actions name description subject recoverySubject
 template recoveryTemplate defaultTemplate:bool
UpdateSNSTopic z a PUT sns/topics/{uuid}/actions name description locale=zh_CN|en_US
UpdateSNSWeComEndpoint z a PUT sns/application-endpoints/we-com/{uuid}/actions url atAll:bool name description
 platformUuid
UpdateSSORedirectTemplate z a POST update/sso/redirectTemplate uuid! redirectTemplate!
UpdateSchedulerJob z a PUT scheduler/jobs/{uuid}/actions name description parameters:dict
UpdateSchedulerJobGroup z a PUT scheduler/jobgroups/{uuid}/actions name description state=Enabled|Disabled
 parameters:dict
UpdateSchedulerTrigger z a PUT scheduler/triggers/{uuid}/actions name description schedulerInterval:int repeatCount:int
 startTime:int stopTime:int cron schedulerType=cron|simple
UpdateScsiLun z a PUT storage-devices/scsi-lun/{uuid}/actions name state=Enabled|Disabled
UpdateSdnController s a PUT sdn-controllers/{uuid}/actions name description
UpdateSecurityGroup zs a PUT security-groups/{uuid}/actions name description
UpdateSecurityGroupRulePriority zs a PUT security-groups/{securityGroupUuid}/rules/priority/actions type!=Ingress|Egress
 rules!:[dict]
UpdateSftpBackupStorage zs a PUT backup-storage/sftp/{uuid}/actions username password hostname sshPort:int name
 description
UpdateSharedBlock z a PUT primary-storage/sharedblockgroup/{sharedBlockGroupUuid}/sharedblocks/{uuid}/actions name
 description diskUuid
UpdateSnmpAgent z a PUT snmp/agent/actions uuid! version!=v2c|v3 readCommunity userName authAlgorithm=MD5|SHA|SHA224
|SHA256|SHA384|SHA512 authPassword privacyAlgorithm=DES|AES128|AES192|AES256|3DES privacyPassword port!:int
UpdateSshKeyPair zs a PUT ssh-key-pair/{uuid}/actions name description
UpdateStackTemplate z a PUT cloudformation/template/{uuid}/actions name description state:bool templateContent
UpdateSubscribeEvent z a PUT zwatch/events/subscriptions/{uuid}/actions emergencyLevel=Emergent|Important|Normal name
UpdateSystemTag zs a PUT system-tags/{uuid}/actions tag!
UpdateTag z a PUT tags/{uuid}/actions name value description color
UpdateTelemetryConsent z a PUT telemetry/consent action! agreedToTerms:bool
UpdateTemplateConfig z a PUT template-configurations/{templateUuid}/actions category! name! value!
UpdateTemplatedVmInstance z a PUT vm-instances/templatedVmInstance/{uuid}/actions name description cpuNum:int
 memorySize:int
UpdateThirdpartyAlerts z a PUT zwatch/third-party/alerts/actions uuid startTimeMillis:int endTimeMillis:int
 updateReadStatus
UpdateThirdpartyPlatform z a PUT zwatch/third-party/platforms/{uuid}/actions name description template url
 stateEvent=enable|disable lastSyncDateMills:int
UpdateTpm z a PUT tpms vmInstanceUuid tpmUuid keyProviderUuid
UpdateUsbDevice z a PUT usb-device/usb-devices/{uuid}/actions name description state=Enabled|Disabled
UpdateUser s a PUT accounts/users/actions uuid password name description oldPassword
UpdateUserGroup s a PUT accounts/groups/actions uuid! name description
UpdateVRouterOspfArea z a PUT routerArea/{uuid}/actions areaAuth areaType password keyId:int
UpdateVRouterRouteTable z a PUT vrouter-route-tables/{uuid}/actions name description
UpdateVip zs a PUT vips/{uuid}/actions name description
UpdateVirtualRouter zs a PUT vm-instances/appliances/virtual-routers/{vmInstanceUuid}/actions defaultRouteL3NetworkUuid
UpdateVirtualRouterOffering zs a PUT instance-offerings/virtual-routers/{uuid}/actions imageUuid name description
 allocatorStrategy isDefault:bool
UpdateVirtualRouterSoftwareVersion z a POST vpc/virtual-routers/{uuid}/softwareversion softwareName!=IPsec
 targetVersion!=4.5.2|5.9.4|5.8.4
UpdateVirtualSwitchUplinkBondings z a PUT l2-networks/virtual-switch/{uuid}/uplink-bondings bondingName mode!
 xmitHashPolicy
UpdateVirtualSwitchUplinkGroup z a PUT l2-networks/virtual-switch/{uuid}/uplink-group hostUuid! slaveUuids:[]
 slaveNames:[] type
UpdateVmCdRom zs a PUT vm-instances/cdroms/{uuid}/actions description name
UpdateVmCustomSpecification z a PUT vm-custom-specifications/{uuid}/actions name description hostname rootPassword
 generateSID:bool domainMode domainName domainUsername domainPassword organization
UpdateVmInstance zs a PUT vm-instances/{uuid}/actions name description state=Stopped|Running defaultL3NetworkUuid
 platform=Linux|Windows|Other|Paravirtualization|WindowsVirtio cpuNum:int memorySize:int reservedMemorySize:int
 guestOsType allocatorStrategy
UpdateVmInstanceMetadata z a PUT vm-instances/metadata/actions vmUuids!:[]
UpdateVmNetworkConfig z a PUT vm-instances/{vmInstanceUuid}/update-nic-config vmNicUuids!:[]
UpdateVmNicDriver zs a PUT vm-instances/{vmInstanceUuid}/actions vmNicUuid! driverType!
UpdateVmNicMac z a PUT vm-instances/nics/{vmNicUuid}/actions mac!
UpdateVmPriority zs a PUT vm-instances/{uuid}/actions priority!
UpdateVmSchedulingRule z a PUT vmSchedulingRule/{uuid}/update name description mode
UpdateVmSchedulingRuleGroup z a PUT vmSchedulingRuleGroup/{uuid}/update name description
UpdateVmUserDefinedXmlHookScript s a PUT vm-instances/xml-hook-script uuid! name description hookScript
 startupStrategy=Reboot|None
UpdateVniRange zs a PUT l2-networks/vxlan-pool/vni-ranges/{uuid} name!
UpdateVolume zs a PUT volumes/{uuid}/actions name description
UpdateVolumeSnapshot zs a PUT volume-snapshots/{uuid}/actions name description
UpdateVolumeSnapshotGroup zs a PUT volume-snapshots/group/{uuid}/actions name description
UpdateVpcHaGroup z a PUT vpc/hagroups/{uuid}/actions name description
UpdateWebhook zs a PUT web-hooks/{uuid} name description url type opaque
UpdateXskyBlockVolume z a PUT xsky/block-volumes/{uuid}/actions burstTotalBw:int burstTotalIops:int maxTotalBw:int
 maxTotalIops:int name description
UpdateZone zs a PUT zones/{uuid}/actions name description isDefault:bool
UploadAndExecuteSoftwareUpgradePackage z a POST software-packages/backup-storage/{uuid}/upgrade backupStorageUuid url
 installPath upgradeType=Normal|Reexecute
UploadKmsClientCsr z a PUT key-providers/kms/{uuid}/actions csrPem! csrKeyPem!
UploadKmsClientIdentity z a PUT key-providers/kms/{uuid}/actions identityType! kmsClientCertPem! kmsClientKeyPem!
UploadKmsClientSignedCert z a PUT key-providers/kms/{uuid}/actions signedClientCertPem!
UploadKmsServerCert z a PUT key-providers/kms/{uuid}/actions serverCertPem!
UploadSoftwarePackage z a POST software-packages/upload name! type! managementNodeUuid! hostUuid! url! installPath!
 tagUuids:[]
UploadSoftwarePackageToBackupStorage z a POST software-packages/backup-storage/upload name! type! backupStorageUuid url!
 installPath! tagUuids:[]
UploadSoftwarePackageToVm z a POST software-packages/uploadtovm type! url! vmInstanceUuid!
ValidateClusterSupportDRS z r GET clusters/{clusterUuid}/drs/valid
ValidateDiskOfferingUserConfig z a PUT billings/accounts/actions config!
ValidateInstanceOfferingUserConfig z a PUT billings/accounts/actions config!
ValidatePassword z r PUT password/verify loginName! password! loginType!
ValidatePriceUserConfig z a PUT billings/accounts/actions config!
ValidateSNSEmailPlatform z a PUT sns/application-platforms/email/{uuid}/actions smtpServer smtpPort:int username
 password
ValidateSecurityGroupRule zs r GET security-groups/{securityGroupUuid}/rules/validation type!=Ingress|Egress
 protocol!=TCP|UDP|ICMP|ALL remoteSecurityGroupUuid ipVersion:int=4|6 srcIpRange dstIpRange dstPortRange action=ACCEPT
|DROP startPort:int endPort:int allowedCidr
ValidateSession zs r GET accounts/sessions/{sessionUuid}/valid
ValidateVmSchedulingRule z r PUT validate/vmSchedulingRule vmGroupUuid! hostGroupUuid rule!=AFFINITY|ANTIAFFINITY
 mode!=SOFT|HARD zoneUuid
ValidateVolumeSnapshotChain z a PUT volumes/{uuid}/actions
ZQLQuery zs r GET zql zql
ZSha2Demote z a PUT management-nodes/zsha2/demote
"""
